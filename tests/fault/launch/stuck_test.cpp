// Ranks that do nothing any more are named, with what they were doing.
#include <csignal>

#include <fmt/format.h>

#include "running_job.h"

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class StuckRank : public RunningJob {
 protected:
  bool says(const std::string& words) const {
    return eventually([&] { return launcher_->err().find(words) != std::string::npos; }, kSoon);
  }
};

TEST_F(StuckRank, ThatIsStopped_IsNamedAndStaysInTheJob) {
  launcher_.emplace(run_words({"-n", "2"}, {program_path("../tests/rank_in_touch"), marks_.folder().string()}));
  const auto ranks = marks_.await("up", 2);
  ASSERT_EQ(ranks.size(), 2U);
  ::kill(ranks.at(1), SIGSTOP);
  ASSERT_TRUE(says("has been stopped for")) << launcher_->err();
  EXPECT_THAT(launcher_->err(), AllOf(HasSubstr("rank 1 of 2 ("), HasSubstr(fmt::format("pid {})", ranks.at(1))),
                                      HasSubstr("stopped"), Not(HasSubstr("rank 0 of 2"))));
  ::kill(ranks.at(1), SIGCONT);
  EXPECT_EQ(launcher_->wait(std::chrono::milliseconds(0)), std::nullopt);
  launcher_->signal(SIGTERM);
  EXPECT_TRUE(launcher_->wait(kPromised).has_value());
  EXPECT_THAT(launcher_->err(), Not(HasSubstr("failed first")));
}

// A stopped rank cannot hear a request to end; it must end all the same.
TEST_F(StuckRank, ThatIsStopped_EndsWithTheJob) {
  start(2, kSleep);
  ::kill(marks_.of("up").at(1), SIGSTOP);
  ::kill(marks_.of("up").at(0), SIGKILL);
  EXPECT_EQ(launcher_->wait(kPromised), 128 + SIGKILL);
  EXPECT_THAT(launcher_->err(), HasSubstr("rank 0 of 2 failed first"));
  EXPECT_THAT(launcher_->processes(), ::testing::IsEmpty());
}

TEST_F(StuckRank, ThatIsSilentForLongerThanTheHeartbeat_FailsTheJob) {
  start({"-n", "2", "--heartbeat", "2"},
        script("mark up; test $RANK = 1 && exec sleep 1000; while :; do echo alive; sleep 0.1; done"), 2);
  const int silent = marks_.of("up").at(1);
  EXPECT_EQ(launcher_->wait(kSoon), 1);
  EXPECT_THAT(launcher_->err(), AllOf(HasSubstr("rank 1 of 2 failed first: it has been silent for"),
                                      HasSubstr(fmt::format("pid {}", silent)), HasSubstr("doing: sleeping")));
  EXPECT_THAT(launcher_->processes(), ::testing::IsEmpty());
}

TEST_F(StuckRank, WhoseLastCollectiveIsKnown_IsNamedWithIt) {
  launcher_.emplace(
      run_words({"-n", "2", "--heartbeat", "2"}, {program_path("../tests/rank_in_touch"), marks_.folder().string()}));
  EXPECT_EQ(launcher_->wait(kSoon), 1);
  EXPECT_THAT(launcher_->err(), HasSubstr("doing: in all_reduce #7 (float32[10]) for"));
}

}  // namespace
}  // namespace lockstep::test
