// The ways in which ranks meet, and what keeps them from it.
#include <future>

#include <gmock/gmock.h>

#include "command.h"
#include "running_command.h"
#include "temporary_folder.h"

namespace lockstep::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

using Environment = std::map<std::string, std::string>;

CommandResult run_rank(const std::string& method, int rank, int size, const std::string& backend = "local",
                       const std::string& timeout = "20000", const Environment& environment = {}) {
  return run_command(
      {program_path("../tests/meeting_rank"), method, std::to_string(rank), std::to_string(size), backend, timeout},
      {.environment = environment, .limit = 60s});
}

// Starts all ranks at once and returns what came of them.
template <typename Start>
std::vector<CommandResult> run_all(int ranks, Start&& start) {
  std::vector<std::future<CommandResult>> running;
  for (int rank = 0; rank < ranks; ++rank) running.push_back(std::async(std::launch::async, start, rank));
  std::vector<CommandResult> results;
  for (auto& result : running) results.push_back(result.get());
  return results;
}

TEST(Meeting, AtATcpAddress) {
  const std::string method = "tcp://127.0.0.1:" + free_port();
  for (const char* backend : {"local", "gloo"}) {
    const auto results = run_all(2, [&](int rank) { return run_rank(method, rank, 2, backend); });
    EXPECT_THAT(results[0].out, HasSubstr("the sum is 3")) << results[0].err;
    EXPECT_EQ(results[1].exit_code, 0) << results[1].err;
    EXPECT_THAT(results[0].err, HasSubstr("open to everyone who can reach that address"));
  }
}

TEST(Meeting, AtAFile) {
  const TemporaryFolder folder;
  const std::string method = "file://" + (folder.path() / "meet").string();
  const auto results = run_all(3, [&](int rank) { return run_rank(method, rank, 3); });
  EXPECT_THAT(results[0].out, HasSubstr("the sum is 6")) << results[0].err;
}

TEST(Meeting, AtTheStoreOfPyTorchOnDemand) {
  const CommandResult result =
      run_command({program_path("lockstep"), "run", "-n", "2", "--store", "tcp", "--",
                   program_path("../tests/meeting_rank"), "env://", "0", "0", "gloo", "20000"});
  EXPECT_THAT(result.out, HasSubstr("the sum is 3")) << result.err;
}

TEST(Meeting, AtAPortThatWasAskedFor) {
  const std::string port = free_port();
  const CommandResult result = run_command({program_path("lockstep"), "run", "-n", "2", "--rendezvous-port", port, "--",
                                            "sh", "-c", "test \"$LOCKSTEP_RENDEZVOUS\" = 127.0.0.1:" + port});
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

// Each of these launchers tells its processes their ranks and nothing else.
TEST(Meeting, UnderLaunchersOfMpi) {
  for (const std::vector<std::string>& launcher :
       {std::vector<std::string>{"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "2"},
        std::vector<std::string>{"mpirun.mpich", "-n", "2"}}) {
    for (const char* backend : {"local", "gloo"}) {
      std::vector<std::string> command = launcher;
      command.insert(command.end(), {program_path("../tests/meeting_rank"), "auto", "0", "0", backend, "20000"});
      const CommandResult result = run_command(command);
      EXPECT_THAT(result.out, HasSubstr("the sum is 3")) << launcher[0] << result.err;
    }
  }
}

// Rank 0 serves the rendezvous there, and others wait for it: an error must end it all the same.
TEST(Meeting, EndsAtOnceWhenAnErrorEndsRankZero) {
  const std::string method = "tcp://127.0.0.1:" + free_port();
  const auto start = std::chrono::steady_clock::now();
  const auto results = run_all(2, [&](int rank) {
    return run_command(
        {program_path("../tests/meeting_rank"), method, std::to_string(rank), "2", "local", "50000", "throws"});
  });
  EXPECT_LT(std::chrono::steady_clock::now() - start, 20s);
  EXPECT_THAT(results[0].err, HasSubstr("rank 0 gives up"));
  EXPECT_NE(results[1].exit_code, 0);
  // Whether the rank or its server is missed first is a matter of moments.
  EXPECT_THAT(results[1].err, AllOf(HasSubstr("rank 0"), HasSubstr("was lost")));
}

TEST(Meeting, WithTwoOfTheSameRankIsRefused) {
  const CommandResult result = run_command({program_path("lockstep"), "run", "-n", "2", "--", "env", "RANK=0",
                                            program_path("../tests/meeting_rank"), "auto", "0", "0", "local", "8000"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err, AllOf(HasSubstr("rank 0"), HasSubstr("pid")));
}

TEST(Meeting, ThatNeverFillsNamesWhoIsMissing) {
  const CommandResult result = run_command({program_path("lockstep"), "run", "-n", "2", "--", "env", "WORLD_SIZE=4",
                                            program_path("../tests/meeting_rank"), "auto", "0", "0", "local", "1500"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err, AllOf(HasSubstr("missing"), HasSubstr("2"), HasSubstr("3")));
}

TEST(Meeting, OfARankOutsideTheWorldIsRefused) {
  const CommandResult result = run_rank("env://", 5, 2);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("rank 5 is outside a world of 2"));
}

TEST(Meeting, WithoutAPlaceSaysWhatIsMissing) {
  const CommandResult result = run_rank("auto", 0, 2);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("MASTER_ADDR and MASTER_PORT"));
}

TEST(Meeting, OnABackendThatIsNotThereListsThoseThatAre) {
  const CommandResult result = run_command({program_path("../tests/meeting_rank"), "auto", "0", "0", "gluu", "2000"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("there is no backend 'gluu'"), HasSubstr("gloo"), HasSubstr("local")));
}

}  // namespace
}  // namespace lockstep::test
