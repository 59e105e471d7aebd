// The launcher is killed, at a random moment: nothing that it has started outlives it.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <iostream>
#include <random>
#include <thread>

#include <fmt/format.h>

#include <lockstep/base/fd.h>

#include "running_job.h"

namespace lockstep::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class LauncherKills : public ::testing::Test {
 protected:
  void SetUp() override {
    const unsigned seed = std::random_device()();
    random_.seed(seed);
    std::cout << "seed " << seed << "\n";
  }

  int choose(int least, int most) { return std::uniform_int_distribution(least, most)(random_); }

  // Kills the process that the user started, or the one that works for it; the former while there is no other.
  static void kill_one(const RunningCommand& launcher, bool guardian) {
    const std::vector<int> body = children_of(launcher.pid());
    ::kill(guardian || body.empty() ? launcher.pid() : body.front(), SIGKILL);
  }

  std::mt19937 random_;
};

TEST_F(LauncherKills, OfEitherProcess_LeaveNoSurvivor) {
  Clock::duration worst{};
  for (int i = 0; i < 20; ++i) {
    const Marks marks;
    const char* const scripts[] = {kSleep, kStubborn, kWithChild, kWithRunaway};
    const char* const text = scripts[choose(0, 3)];
    const bool at_start = choose(0, 3) == 0;
    const bool guardian = i % 2 == 0;
    SCOPED_TRACE(fmt::format("kill {}: the {}, {}, ranks: {}", i, guardian ? "guardian" : "body",
                             at_start ? "while it starts" : "when all are up", text));
    RunningCommand launcher(run_words({"-n", "3"}, script(text)), {{"MARKS", marks.folder().string()}});
    if (!at_start) {
      ASSERT_EQ(marks.await("up", 3).size(), 3U) << launcher.err();
      ASSERT_GE(launcher.processes().size(), 5U);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(choose(0, 20'000)));
    const auto killed = Clock::now();
    kill_one(launcher, guardian);
    ASSERT_TRUE(eventually([&] { return launcher.processes().empty(); }, kPromised));
    worst = std::max(worst, Clock::now() - killed);
  }
  std::cout << fmt::format("20 kills of the launcher: the last process was gone after {} ms at worst\n", worst / 1ms);
}

TEST_F(RunningJob, AGuardianWhoseBodyWasKilled_SaysSo) {
  start(2, kSleep);
  ::kill(body(), SIGKILL);
  EXPECT_EQ(launcher_->wait(kPromised), 128 + SIGKILL);
  EXPECT_THAT(launcher_->err(), ::testing::HasSubstr("was ended by signal 9 (Killed); all that it had started"));
  EXPECT_THAT(launcher_->processes(), ::testing::IsEmpty());
}

TEST_F(RunningJob, AGuardianThatNobodyHears_EndsRunawaysAllTheSame) {
  launcher_.emplace(
      Words{"bash", "-c",
            fmt::format("exec '{}' run -n 1 -- sh -c '(setsid sleep 1000 &); : > $MARKS/up.0.$$; exec sleep 1000' "
                        "2> >(exec true)",
                        program_path("lockstep"))},
      Environment{{"MARKS", marks_.folder().string()}});
  ASSERT_EQ(marks_.await("up", 1).size(), 1U);
  ASSERT_TRUE(eventually([&] { return launcher_->processes().size() == 4; }, kSoon));
  for (const int child : children_of(launcher_->pid())) ::kill(child, SIGKILL);
  EXPECT_TRUE(nothing_is_left(kPromised));
  EXPECT_EQ(launcher_->wait(kPromised), 128 + SIGKILL);
}

// Nobody is left who could look for more than the ranks; those the kernel ends.
TEST_F(RunningJob, RanksEnd_WhenBothProcessesOfTheLauncherAreKilled) {
  start(3, kStubborn);
  const int worker = body();
  ::kill(launcher_->pid(), SIGSTOP);  // so that neither sees the other die
  ::kill(worker, SIGKILL);
  ::kill(launcher_->pid(), SIGKILL);
  const auto ranks = marks_.of("up");
  EXPECT_TRUE(eventually(
      [&] {
        return std::none_of(ranks.begin(), ranks.end(), [](const auto& rank) { return process_runs(rank.second); });
      },
      kPromised));
}

// A runaway is a process that has left its rank's group, its session, and its parent.
TEST_F(RunningJob, RunawaysEnd_WithAFailureAndWithAnInterrupt) {
  for (const bool failure : {true, false}) {
    start(2, kWithRunaway);
    ASSERT_TRUE(eventually([&] { return launcher_->processes().size() >= 6; }, kSoon));
    failure ? ::kill(marks_.of("up").at(0), SIGKILL) : ::kill(launcher_->pid(), SIGINT);
    EXPECT_TRUE(launcher_->wait(kPromised).has_value());
    EXPECT_THAT(launcher_->processes(), ::testing::IsEmpty());
    marks_.forget();
  }
}

TEST_F(RunningJob, AKilledLauncher_LeavesNoFile) {
  const std::string folder = marks_.folder().string();
  launcher_.emplace(run_words({"-n", "2"}, {program_path("../tests/rank_in_touch"), folder}),
                    Environment{{"TMPDIR", folder}, {"HOME", folder}, {"XDG_RUNTIME_DIR", folder}});
  const auto ranks = marks_.await("up", 2);
  ASSERT_EQ(ranks.size(), 2U);
  launcher_->signal(SIGKILL);
  EXPECT_TRUE(nothing_is_left(kPromised));
  for (const auto& [rank, pid] : ranks) {
    std::filesystem::remove(marks_.folder() / fmt::format("up.{}.{}", rank, pid));
    for (const auto& file : std::filesystem::directory_iterator("/dev/shm")) {
      EXPECT_EQ(file.path().string().find(std::to_string(pid)), std::string::npos) << file.path();
    }
  }
  EXPECT_TRUE(std::filesystem::is_empty(marks_.folder()));
}

// Nobody reads what the job has printed, nor will.
class UnreadJob : public RunningJob {
 protected:
  // Ends the ranks of a job that has more to print than its reader takes.
  void start_and_end_ranks() {
    const std::filesystem::path fifo = folder_.path() / "fifo";
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    reader_ = UniqueFd(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    launcher_.emplace(
        Words{"sh", "-c",
              fmt::format("exec '{}' run -n 2 -- sh -c '{}' > '{}'", program_path("lockstep"),
                          "yes | head -c 1000000; : > $MARKS/up.$RANK.$$; exec sleep 1000", fifo.string())},
        Environment{{"MARKS", marks_.folder().string()}});
    const auto ranks = marks_.await("up", 2);
    ASSERT_EQ(ranks.size(), 2U) << launcher_->err();
    launcher_->signal(SIGINT);
    for (const auto& rank : ranks) EXPECT_TRUE(eventually([&] { return !process_runs(rank.second); }, kPromised));
  }

  TemporaryFolder folder_;
  UniqueFd reader_;
};

TEST_F(UnreadJob, IsGoneWithItsKilledLauncher) {
  start_and_end_ranks();
  launcher_->signal(SIGKILL);
  EXPECT_TRUE(nothing_is_left(kPromised));
}

TEST_F(UnreadJob, EndsWithAnotherInterrupt) {
  start_and_end_ranks();
  const auto press_again = [this] {
    launcher_->signal(SIGINT);
    return launcher_->wait(100ms).has_value();
  };
  ASSERT_TRUE(eventually(press_again, kPromised));
  EXPECT_EQ(launcher_->wait(0ms), 128 + SIGINT);
  EXPECT_THAT(launcher_->processes(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace lockstep::test
