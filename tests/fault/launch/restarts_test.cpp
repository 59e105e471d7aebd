// Jobs that are started again after a failure.
#include <csignal>

#include <fmt/format.h>

#include "running_job.h"

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// In scripts: $TRY is 0 at the first attempt.
CommandResult run_tries(const Words& flags, const std::string& text) {
  return run_command(run_words(flags, script("TRY=$TORCHELASTIC_RESTART_COUNT; " + text)));
}

TEST(Restarts, StartTheWholeJobAgainWithTheSameRanks) {
  const CommandResult result =
      run_tries({"-n", "3", "--max-restarts", "2", "--label"},
                "echo try $TRY of $TORCHELASTIC_MAX_RESTARTS, size $WORLD_SIZE, job $TORCHELASTIC_RUN_ID; "
                "test $TRY -lt 2 || exit 0; test $RANK = 1 && exit 7; exec sleep 1000");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (int rank = 0; rank < 3; ++rank) {
    for (int attempt = 0; attempt < 3; ++attempt) {
      if (attempt < 2 && rank != 1) continue;  // it may have been ended before it could speak
      EXPECT_THAT(result.out, HasSubstr(fmt::format("[{}/3] try {} of 2, size 3, job ", rank, attempt)));
    }
  }
  EXPECT_THAT(result.err, AllOf(HasSubstr("starting the job again (1 of 2 restarts)"),
                                HasSubstr("starting the job again (2 of 2 restarts)")));
}

TEST(Restarts, EndWithTheHistoryWhenAllWereInVain) {
  const CommandResult result =
      run_tries({"-n", "2", "--max-restarts", "2"},
                "test $RANK = $((TRY % 2)) || exec sleep 1000; test $TRY = 2 && kill -SEGV $$; "
                "exit $((TRY + 10))");
  EXPECT_EQ(result.exit_code, 128 + SIGSEGV);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("given up after 2 restarts:\n  attempt 1: rank 0 on "), HasSubstr("exit code 10 after"),
                    HasSubstr("\n  attempt 2: rank 1 on "), HasSubstr("exit code 11 after"),
                    HasSubstr("\n  attempt 3: rank 0 on "), HasSubstr("signal 11 after")));
}

TEST(Restarts, AreNotMadeForACommandThatIsWrong) {
  const CommandResult result = run_tries({"-n", "2", "--max-restarts", "5"}, "exit 2");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("not started again"), Not(HasSubstr("starting the job again"))));
}

// The first attempt runs for longer than what is taken for a checkpoint without progress.
TEST(Restarts, FromACheckpointDoNotCount) {
  const CommandResult result = run_tries({"-n", "2", "--max-restarts", "1"},
                                         "case $TRY in 0) sleep 10.5; exit 75;; 1) exit 3;; *) exit 0;; esac");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("starting the job again from its checkpoint"),
                                HasSubstr("starting the job again (1 of 1 restarts)")));
}

TEST(Restarts, FromACheckpointThatIsNoProgressCount) {
  const CommandResult result = run_tries({"-n", "2", "--max-restarts", "3"}, "exit 75");
  EXPECT_EQ(result.exit_code, 75);
  EXPECT_THAT(result.err, HasSubstr("given up after 3 restarts"));
}

TEST(Restarts, KeepThePortThatWasAskedFor) {
  const std::string port = free_port();
  const CommandResult result =
      run_tries({"-n", "2", "--max-restarts", "3", "--rendezvous-port", port},
                "test $LOCKSTEP_RENDEZVOUS = 127.0.0.1:" + port + " || exit 2; test $TRY = 3 || exit 1");
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST_F(RunningJob, AnInterrupt_IsNoFailureToStartAgainAfter) {
  start({"-n", "2", "--max-restarts", "5"}, script(kSleep), 2);
  launcher_->signal(SIGINT);
  EXPECT_EQ(launcher_->wait(kPromised), 128 + SIGINT);
  EXPECT_THAT(launcher_->err(), Not(HasSubstr("again")));
}

// A rank that meets the others at the rendezvous of each attempt, and is killed there.
TEST_F(RunningJob, AKilledRank_IsStartedAgainWithTheOthers) {
  launcher_.emplace(run_words({"-n", "2", "--max-restarts", "5"},
                              {program_path("../tests/rank_in_touch"), marks_.folder().string()}));
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto ranks = marks_.await("up", 2);
    ASSERT_EQ(ranks.size(), 2U) << launcher_->err();
    marks_.forget();
    ::kill(ranks.at(attempt % 2), SIGKILL);
  }
  ASSERT_EQ(marks_.await("up", 2).size(), 2U);
  launcher_->signal(SIGTERM);
  EXPECT_TRUE(launcher_->wait(kPromised).has_value());
  EXPECT_THAT(launcher_->err(), HasSubstr("(3 of 5 restarts)"));
}

}  // namespace
}  // namespace lockstep::test
