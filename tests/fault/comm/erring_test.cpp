// Ranks that do not do the same: everyone is told who errs, in time, and what is left behind says it again.
#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>

#include "command.h"
#include "temporary_folder.h"

namespace lockstep::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ErringRank : public ::testing::TestWithParam<const char*> {
 protected:
  // Three ranks, of which rank 1 errs in the given way.
  CommandResult run(const std::string& way, const std::string& timeout,
                    std::map<std::string, std::string> environment = {}) {
    environment["LOCKSTEP_POST_MORTEM"] = folder_.path().string();
    return run_command({program_path("lockstep"), "run", "-n", "3", "--", program_path("../tests/erring_rank"),
                        GetParam(), timeout, way},
                       {.environment = environment, .limit = 60s});
  }
  std::string post_mortem() {
    return run_command({program_path("lockstep"), "info", "--post-mortem", folder_.path().string()}).out;
  }
  TemporaryFolder folder_;
};

TEST_P(ErringRank, ThatIsLateIsNamedByAllWhoWait) {
  const CommandResult result = run("late", "1500");
  EXPECT_NE(result.exit_code, 0);
  for (const char* rank : {"rank 0: ", "rank 2: "}) {
    EXPECT_THAT(result.out, HasSubstr(std::string(rank) + "all_reduce #4 (float32[10]) timed out after 1.5 s"));
  }
  EXPECT_THAT(result.out, HasSubstr("rank 1 has not arrived: its last call was all_reduce #3 (float32[1000]), done"));
  EXPECT_THAT(result.out, HasSubstr("sleep"));  // where it is
  EXPECT_THAT(post_mortem(), HasSubstr("rank 1 did not come to #4 of group world, all_reduce (float32[10])"));
}

TEST_P(ErringRank, ThatStallsOthersIsReportedOnce) {
  const CommandResult result = run("late", "6000", {{"LOCKSTEP_STALL_SECONDS", "1"}});
  // The launcher quotes the last lines of the rank that failed first, and whichever of the waiting ranks is first to
  // give up may be the one that reported.
  const std::string said = result.err.substr(0, result.err.find("last lines of its stderr"));
  const std::string report = "stalled: all_reduce #4 (float32[10]) has waited";
  EXPECT_THAT(said, AllOf(HasSubstr(report), HasSubstr("rank 1 has not arrived")));
  EXPECT_THAT(said.substr(said.find(report) + 1), Not(HasSubstr(report)));
}

TEST_P(ErringRank, ThatCrashesLeavesItsStack) {
  const CommandResult result = run("crash", "20000");
  EXPECT_EQ(result.exit_code, 128 + SIGSEGV);
  EXPECT_THAT(result.out, AllOf(HasSubstr("rank 0: all_reduce #4"), HasSubstr("rank 1 ("), HasSubstr("was lost")));
  EXPECT_THAT(post_mortem(),
              AllOf(HasSubstr("rank 1 did not come to #4"), HasSubstr("erring_rank+0x"), HasSubstr("SIGSEGV")));
}

TEST_P(ErringRank, ThatCallsSomethingElseIsNamedByAllWhenAsked) {
  for (const auto& [way, call] : {std::pair("other", "broadcast"), std::pair("size", "float32[20]")}) {
    const CommandResult result = run(way, "20000", {{"LOCKSTEP_DEBUG", "collectives"}});
    for (const char* rank : {"rank 0: ", "rank 1: ", "rank 2: "}) {
      EXPECT_THAT(result.out, HasSubstr(std::string(rank) + "the ranks do not agree on collective #4"));
    }
    EXPECT_THAT(result.out, AllOf(HasSubstr("ranks 0, 2: all_reduce sum float32[10]; rank 1: "), HasSubstr(call)));
  }
}

TEST_P(ErringRank, ThatDoesNotErrLeavesNothing) {
  const CommandResult result = run("none", "20000", {{"LOCKSTEP_DEBUG", "collectives"}});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, ErringRank, ::testing::Values("local", "gloo"),
                         [](const auto& backend) { return std::string(backend.param); });

TEST(Debug, WordThatNobodyKnowsIsRefused) {
  const CommandResult result = run_command(
      {program_path("lockstep"), "run", "-n", "2", "--", program_path("../tests/erring_rank"), "local", "2000", "none"},
      {.environment = {{"LOCKSTEP_DEBUG", "colectives"}}});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("LOCKSTEP_DEBUG is not understood"));
}

}  // namespace
}  // namespace lockstep::test
