// Jobs in a real Slurm, which tests/support/with_slurm starts around this program: two nodes that are both this
// machine.
#include <gmock/gmock.h>

#include "command.h"
#include "temporary_folder.h"

namespace lockstep::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Two ranks that wait until they are asked to stop, write a checkpoint and exit with 75; with one, they are done.
constexpr const char* kRank = R"(#!/bin/bash
stop() {
  echo "rank $SLURM_PROCID stopped by $1"
  echo "$1" >"checkpoint.$SLURM_PROCID"
  exit 75
}
if [[ -e checkpoint.$SLURM_PROCID ]]; then
  echo "rank $SLURM_PROCID goes on from $(<"checkpoint.$SLURM_PROCID"), restart $SLURM_RESTART_COUNT"
  exit 0
fi
trap 'stop USR1' USR1
trap 'stop TERM' TERM
touch "started.$SLURM_PROCID"
while :; do sleep 0.1; done
)";

class SlurmJob : public ::testing::Test {
 protected:
  void TearDown() override {
    if (!number_.empty()) run_command({"scancel", "--signal=KILL", "--full", number_});
    if (!number_.empty()) run_command({"scancel", number_});
  }

  void submit(const std::string& options, const std::string& command) {
    const CommandResult result =
        run_command({"bash", "-c",
                     "cd " + folder_.path().string() + " && " + program_path("lockstep") +
                         " submit --nodes 2 --threads 1 --output out --now " + options + " -- " + command});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    number_ = result.out.substr(0, result.out.find('\n'));
    ASSERT_NE(number_, "");
  }

  void submit_rank(const std::string& options) {
    const auto program = folder_.write("rank", kRank);
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    submit(options, "./rank");
  }

  void wait_for_ranks() const {
    ASSERT_TRUE(eventually([&] { return exists("started.0") && exists("started.1"); }, 60s)) << about();
  }

  // Waits for a word in what Slurm says about the job.
  testing::AssertionResult becomes(const std::string& state) const {
    if (eventually([&] { return about().find(state) != std::string::npos; }, 90s)) return testing::AssertionSuccess();
    return testing::AssertionFailure() << about() << output();
  }

  bool exists(const std::string& file) const { return std::filesystem::exists(folder_.path() / file); }
  std::string output() const { return content(folder_.path() / "out"); }
  std::string about() const { return run_command({"scontrol", "show", "job", number_}).out; }

  TemporaryFolder folder_;
  std::string number_;
};

class EveryMpi : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryMpi, RanksOfSrunOnTwoNodesMeet) {
  const CommandResult result = run_command({"srun", std::string("--mpi=") + GetParam(), "-N2", "-n2",
                                            LOCKSTEP_TEST_MEETING_RANK, "auto", "0", "0", "auto", "20000"});
  EXPECT_THAT(result.out, HasSubstr("the sum is 3")) << result.err;
}

INSTANTIATE_TEST_SUITE_P(Srun, EveryMpi, ::testing::Values("none", "pmix", "pmi2"));

TEST_F(SlurmJob, RunsEachRankWithItsArguments) {
  submit("--time 5", "bash -c 'echo \"$SLURM_PROCID:$OMP_NUM_THREADS:$1\"' bash 'a $b'");
  ASSERT_TRUE(becomes("JobState=COMPLETED"));
  EXPECT_THAT(output(), AllOf(HasSubstr("0:1:a $b\n"), HasSubstr("1:1:a $b\n")));
}

TEST_F(SlurmJob, ASignalToTheShellMakesACheckpointFromWhichItGoesOn) {
  submit_rank("--time 10");
  wait_for_ranks();
  run_command({"scancel", "--batch", "--signal=USR1", number_});
  ASSERT_TRUE(becomes("JobState=COMPLETED"));
  EXPECT_THAT(about(), HasSubstr("Restarts=1"));
  EXPECT_THAT(output(), AllOf(HasSubstr("rank 0 goes on from USR1, restart 1"), HasSubstr("rank 1 goes on from USR1")));
}

TEST_F(SlurmJob, ASignalToTheRanksDoesTheSame) {
  submit_rank("--time 10");
  wait_for_ranks();
  run_command({"scancel", "--signal=USR1", number_});
  ASSERT_TRUE(becomes("JobState=COMPLETED"));
  EXPECT_THAT(output(), HasSubstr("rank 0 goes on from USR1, restart 1"));
}

TEST_F(SlurmJob, ACancelledJobLeavesACheckpointAndDoesNotComeBack) {
  submit_rank("--time 10");
  wait_for_ranks();
  run_command({"scancel", number_});
  ASSERT_TRUE(becomes("JobState=CANCELLED"));
  ASSERT_TRUE(eventually([&] { return exists("checkpoint.0") && exists("checkpoint.1"); }, 30s)) << output();
  ASSERT_TRUE(eventually([] { return run_command({"squeue", "-h"}).out.empty(); }, 60s)) << about();
  EXPECT_THAT(about(), AllOf(HasSubstr("JobState=CANCELLED"), HasSubstr("Restarts=0")));
}

TEST_F(SlurmJob, TheTimeLimitIsAnnounced) {
  submit_rank("--time 2 --signal-ahead 110");
  ASSERT_TRUE(becomes("JobState=COMPLETED"));
  EXPECT_THAT(output(), HasSubstr("rank 0 goes on from USR1, restart 1"));
}

TEST_F(SlurmJob, AJobThatShallNotComeBackStaysStopped) {
  submit_rank("--time 10 --no-requeue");
  wait_for_ranks();
  run_command({"scancel", "--batch", "--signal=USR1", number_});
  ASSERT_TRUE(becomes("JobState=FAILED"));
  EXPECT_THAT(about(), HasSubstr("ExitCode=75:0"));
  EXPECT_THAT(output(), Not(HasSubstr("goes on")));
}

}  // namespace
}  // namespace lockstep::test
