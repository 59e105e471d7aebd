// A job from its start to its end on one machine: what ranks are told, how they are asked to end, what is refused.
#include <sys/stat.h>

#include <csignal>

#include "running_job.h"

namespace lockstep::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(RunningJob, AKilledRank_EndsTheOthersAndIsNamed) {
  start(3, kSleep);
  const int victim = marks_.of("up").at(1);
  ::kill(victim, SIGKILL);
  EXPECT_EQ(launcher_->wait(kPromised), 128 + SIGKILL);
  EXPECT_THAT(launcher_->processes(), ::testing::IsEmpty());
  EXPECT_THAT(launcher_->err(),
              AllOf(HasSubstr("rank 1 of 3 failed first: it was ended by signal 9 (Killed)"),
                    HasSubstr("pid " + std::to_string(victim)), HasSubstr("meaning: somebody or a scheduler killed it"),
                    HasSubstr("the other ranks were ended")));
}

TEST_F(RunningJob, TheSummary_HasTheLastTwentyLinesOfTheRanksStderr) {
  start({"-n", "2", "--output", "none"},
        script("test $RANK = 0 && exec sleep 1000; mark up; seq 1 50 >&2; echo 'the end' >&2; exit 3"), 1);
  EXPECT_EQ(launcher_->wait(kPromised), 3);
  EXPECT_THAT(launcher_->err(), AllOf(HasSubstr("rank 1 of 2 failed first: it exited with code 3"),
                                      HasSubstr("last lines of its stderr:\n  | 32\n"), HasSubstr("  | the end"),
                                      Not(HasSubstr("| 31\n"))));
}

TEST_F(RunningJob, RanksThatDoNotListen_AreKilledAfterTheGrace) {
  start({"-n", "2"}, script(std::string("test $RANK = 1 && { mark up; exec sleep 1000; }; ") + kStubborn), 2);
  ::kill(marks_.of("up").at(1), SIGKILL);
  EXPECT_EQ(launcher_->wait(kPromised), 128 + SIGKILL);
  EXPECT_THAT(launcher_->processes(), ::testing::IsEmpty());
}

TEST_F(RunningJob, WhatARankStarted_EndsWithIt) {
  start(2, kWithChild);
  launcher_->signal(SIGTERM);
  EXPECT_EQ(launcher_->wait(kPromised), 128 + SIGTERM);
  EXPECT_THAT(launcher_->processes(), ::testing::IsEmpty());
}

TEST_F(RunningJob, AnInterrupt_AsksAndThenEnds) {
  start({"-n", "2", "--grace", "0.3"}, script(kStubborn), 2);
  launcher_->signal(SIGINT);
  EXPECT_EQ(launcher_->wait(kPromised), 128 + SIGKILL);
  EXPECT_THAT(launcher_->processes(), ::testing::IsEmpty());
}

TEST_F(RunningJob, ASecondInterrupt_EndsItAtOnce) {
  start({"-n", "2", "--grace", "600"}, script("trap 'mark asked' INT; mark up; while :; do sleep 0.1; done"), 2);
  launcher_->signal(SIGINT);
  ASSERT_EQ(marks_.await("asked", 2).size(), 2U);
  launcher_->signal(SIGINT);
  EXPECT_EQ(launcher_->wait(kPromised), 128 + SIGKILL);
  EXPECT_THAT(launcher_->processes(), ::testing::IsEmpty());
}

// As while programs start: one rank has its handler by then, another one has not.
TEST_F(RunningJob, ASignalToEnd_OfWhichOneRankDies_MayBeStartedAgainIfAnotherSaysSo) {
  start({"-n", "2", "--grace", "60"},
        script("if [ $RANK = 0 ]; then trap 'sleep 1; exit 75' TERM; fi; mark up; while :; do sleep 0.05; done"), 2);
  launcher_->signal(SIGTERM);
  EXPECT_EQ(launcher_->wait(kSoon), 75) << launcher_->err();
  EXPECT_THAT(launcher_->processes(), ::testing::IsEmpty());
}

// What a rank does there may take longer than it has after a failure.
TEST_F(RunningJob, ASignalToEnd_LeavesTimeForACheckpoint) {
  for (const int number : {SIGTERM, SIGUSR1}) {
    start({"-n", "2", "--grace", "60"},
          script("trap 'sleep 4; mark saved; exit 75' TERM USR1; mark up; while :; do sleep 0.05; done"), 2);
    launcher_->signal(number);
    EXPECT_EQ(launcher_->wait(kSoon), 75) << launcher_->err();
    EXPECT_EQ(marks_.of("saved").size(), 2U);
    marks_.forget();
  }
}

TEST_F(RunningJob, MoreRanksThanCores_AreStartedWithAWarning) {
  const CommandResult result = run_command(run_words({"-n", "64"}, {"true"}));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, AllOf(HasSubstr("64 ranks on "), HasSubstr("they will take turns")));
}

struct Refusal {
  std::string name;
  Words flags;
  Words program;
  std::string says;

  friend std::ostream& operator<<(std::ostream& out, const Refusal& refusal) { return out << refusal.says; }
};

class RefusedJob : public ::testing::TestWithParam<Refusal> {};

TEST_P(RefusedJob, SaysWhyOnceAndExitsWithTwo) {
  const CommandResult result = run_command(run_words(GetParam().flags, GetParam().program));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr(GetParam().says));
  EXPECT_EQ(result.err.find("error:"), result.err.rfind("error:")) << result.err;
}

INSTANTIATE_TEST_SUITE_P(
    Input, RefusedJob,
    ::testing::Values(Refusal{"NoProgram", {"-n", "2"}, {}, "no program to run"},
                      Refusal{"AMissingProgram", {"-n", "2"}, {"no-such-program"}, "'no-such-program' is not in PATH"},
                      Refusal{"AMissingPath", {"-n", "2"}, {"/no/such"}, "program '/no/such' does not exist"},
                      Refusal{"AFolder", {"-n", "2"}, {"/tmp"}, "'/tmp' is a folder, not a program"},
                      Refusal{"AFileWithoutItsRunBit", {"-n", "2"}, {"/etc/passwd"}, "'/etc/passwd' is not executable"},
                      Refusal{"AHostListedTwice", {"--hosts", "a,b,a"}, {"true"}, "host 'a' is listed twice"},
                      Refusal{"AHostThatIsAnOption", {"--hosts", "a,-oProxy"}, {"true"}, "--hosts is not understood"},
                      Refusal{"NodesWithoutAnAddress", {"--nnodes", "2"}, {"true"}, "do not know where to meet"},
                      Refusal{"ANodeOutsideTheJob",
                              {"--nnodes", "2", "--node-rank", "2", "--master-addr", "127.0.0.1"},
                              {"true"},
                              "each node needs its number"},
                      Refusal{"AnUnknownOutput", {"--output", "some"}, {"true"}, "'some' is none of"}),
    [](const auto& test) { return test.param.name; });

TEST(APortInUse, IsRefusedBeforeAnythingStarts) {
  const Marks marks;
  const std::string port = free_port();
  const Words lead = {"--nnodes", "2", "--node-rank", "0", "--master-addr", "127.0.0.1", "--master-port", port};
  const RunningCommand first(run_words(lead, {"true"}), {{"HOME", marks.folder().string()}});
  // The first may not listen yet when the second begins to: then it is the first that is refused.
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(marks.folder() / ".lockstep" / "key"); }, kSoon));
  for (const Words& flags : {lead, Words{"-n", "2", "--rendezvous-port", port}}) {
    Words words = run_words(flags, script("mark up"));
    const CommandResult result =
        run_command(words, {.environment = {{"HOME", marks.folder().string()}, {"MARKS", marks.folder().string()}}});
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_THAT(result.err, AllOf(HasSubstr(port), HasSubstr("in use")));
  }
  EXPECT_TRUE(marks.of("up").empty());
}

}  // namespace
}  // namespace lockstep::test
