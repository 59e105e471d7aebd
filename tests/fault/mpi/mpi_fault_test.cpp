// A rank that stops or dies under MPI: the others throw, at their deadline or at once, and end, though MPI never lets
// go of them.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <gmock/gmock.h>

#include "command.h"
#include "full_set.h"
#include "source_path.h"
#include "temporary_folder.h"

namespace lockstep::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

class FailingRank : public ::testing::TestWithParam<std::tuple<std::string, std::string, int>> {
 protected:
  // In a process group of its own, so that the launcher and its ranks can be ended together.
  void start(const std::string& mpi, const std::string& what) {
    launcher_ = ::fork();
    ASSERT_GE(launcher_, 0);
    if (launcher_ != 0) return;
    ::setpgid(0, 0);
    ::setenv("UNDER_MPI_SURVIVORS", "1", 1);  // a launcher would end all ranks with the one that died
    const std::string script = test::source_path("tests/support/under-mpi");
    const std::string program = program_path("../tests/failing_rank");
    ::execl(script.c_str(), "under-mpi", mpi.c_str(), "3", program.c_str(), folder_.path().c_str(), what.c_str(),
            nullptr);
    ::_exit(127);
  }

  // The launcher ends its ranks, if it is given the time.
  void TearDown() override {
    ::kill(launcher_, SIGTERM);
    const auto ended = [&] { return ::waitpid(launcher_, nullptr, WNOHANG) == launcher_; };
    if (eventually(ended, 10s)) return;
    ::kill(-launcher_, SIGKILL);
    ::waitpid(launcher_, nullptr, 0);
  }

  std::filesystem::path file(const std::string& kind, int rank) const {
    return folder_.path() / (kind + "." + std::to_string(rank));
  }

  int launcher_ = -1;
  TemporaryFolder folder_;
};

TEST_P(FailingRank, MakesTheOthersThrow) {
  const auto& [mpi, what, repetition] = GetParam();
  start(mpi, what);
  for (const int rank : {0, 2}) {
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(file("pid", rank)); }, 30s)) << "rank " << rank;
    EXPECT_THAT(content(file("first", rank)),
                AllOf(HasSubstr("all_reduce #2"), HasSubstr(what == "dies" ? "was lost" : "timed out after 2.0 s"),
                      HasSubstr(what == "dies" ? "rank 1 (" : "rank 1 has not arrived")));
    EXPECT_THAT(content(file("second", rank)), HasSubstr("all_reduce #2"));  // at once, with the same error
    const int pid = std::stoi(content(file("pid", rank)));
    EXPECT_TRUE(eventually([&] { return !process_runs(pid); }, 10s)) << "rank " << rank << " does not end";
  }
}

INSTANTIATE_TEST_SUITE_P(EveryMpi, FailingRank,
                         ::testing::Combine(::testing::Values(LOCKSTEP_TEST_MPIS), ::testing::Values("stops", "dies"),
                                            ::testing::Range(0, repetitions())),
                         [](const auto& parameters) {
                           return std::string(std::get<0>(parameters.param)) + "_" + std::get<1>(parameters.param) +
                                  "_" + std::to_string(std::get<2>(parameters.param));
                         });

}  // namespace
}  // namespace lockstep::test
