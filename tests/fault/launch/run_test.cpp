// Ranks and launchers that die: the others end, and nothing is left behind.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

#include "command.h"
#include "temporary_folder.h"

namespace lockstep::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// A job whose ranks write down their process numbers, and of whose end the test is the witness.
class RunningJob : public ::testing::Test {
 protected:
  // Every rank runs `script`, in which $PIDS is a folder; returns when `processes` files are in it.
  void start(int ranks, const std::string& script, std::size_t processes) {
    launcher_ = ::fork();
    ASSERT_GE(launcher_, 0);
    if (launcher_ == 0) {
      ::setenv("PIDS", folder_.path().c_str(), 1);
      ::dup2(::creat((folder_.path() / "stderr").c_str(), 0600), STDERR_FILENO);
      const std::string program = program_path("lockstep");
      const std::string count = std::to_string(ranks);
      ::execl(program.c_str(), "lockstep", "run", "-n", count.c_str(), "--", "sh", "-c", script.c_str(), nullptr);
      ::_exit(127);
    }
    ASSERT_TRUE(eventually([&] { return pids().size() >= processes; }, 20s));
  }

  void TearDown() override {
    if (launcher_ > 0) {
      ::kill(launcher_, SIGKILL);
      ::waitpid(launcher_, nullptr, 0);
    }
  }

  // The process numbers behind a prefix among the names of the files that the ranks have made.
  std::vector<int> numbers(const std::string& prefix) const {
    std::vector<int> result;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      const std::string name = entry.path().filename();
      if (name.starts_with(prefix)) result.push_back(std::stoi(name.substr(prefix.size())));
    }
    return result;
  }

  std::vector<int> pids() const { return numbers("pid."); }

  bool all_are_gone(std::chrono::milliseconds limit) const {
    return eventually(
        [&] {
          for (const int pid : pids()) {
            if (process_runs(pid)) return false;
          }
          return true;
        },
        limit);
  }

  // The launcher's exit code, or -1 when it does not end within the limit.
  int wait_for_launcher(std::chrono::milliseconds limit) {
    int status = 0;
    if (!eventually([&] { return ::waitpid(launcher_, &status, WNOHANG) == launcher_; }, limit)) return -1;
    launcher_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  std::string messages() const {
    std::ostringstream text;
    text << std::ifstream(folder_.path() / "stderr").rdbuf();
    return text.str();
  }

  int launcher_ = -1;
  TemporaryFolder folder_;
};

constexpr const char* kSleep = "touch $PIDS/pid.$$; exec sleep 1000";
constexpr const char* kSleepWithChild = "sleep 1000 & touch $PIDS/pid.$! $PIDS/pid.$$; wait";
constexpr const char* kStubborn = "trap '' TERM INT; touch $PIDS/pid.$$; while :; do sleep 1; done";

TEST_F(RunningJob, AKilledRank_EndsTheOthersAndIsNamed) {
  start(3, kSleep, 3);
  const int victim = pids().front();
  ::kill(victim, SIGKILL);
  EXPECT_EQ(wait_for_launcher(5s), 128 + SIGKILL);
  EXPECT_TRUE(all_are_gone(0ms));
  EXPECT_THAT(messages(), HasSubstr("pid " + std::to_string(victim)));
  EXPECT_THAT(messages(), HasSubstr("signal 9 (Killed)"));
}

TEST_F(RunningJob, RanksThatDoNotListen_AreKilledAfterTheGrace) {
  start(2, std::string("test $RANK = 1 && { touch $PIDS/victim.$$ $PIDS/pid.$$; exec sleep 1000; }; ") + kStubborn, 2);
  ::kill(numbers("victim.").front(), SIGKILL);
  EXPECT_EQ(wait_for_launcher(8s), 128 + SIGKILL);
  EXPECT_TRUE(all_are_gone(0ms));
}

TEST_F(RunningJob, WhatARankStarted_EndsWithIt) {
  start(2, kSleepWithChild, 4);
  ::kill(launcher_, SIGTERM);
  EXPECT_NE(wait_for_launcher(6s), -1);
  // Their end is the kernel's matter: they are no children of the launcher, which has no way to wait for it.
  EXPECT_TRUE(all_are_gone(2s));
}

TEST_F(RunningJob, AKilledLauncher_LeavesNoRank) {
  start(3, kSleep, 3);
  ::kill(launcher_, SIGKILL);
  EXPECT_TRUE(all_are_gone(5s));
}

TEST_F(RunningJob, ASecondInterrupt_EndsItAtOnce) {
  start(2, kStubborn, 2);
  ::kill(launcher_, SIGINT);
  ::kill(launcher_, SIGINT);
  // Two signals of one kind may arrive as one; the user presses again.
  ASSERT_TRUE(eventually([&] { return ::kill(launcher_, SIGINT) == 0 && wait_for_launcher(100ms) != -1; }, 3s));
  EXPECT_TRUE(all_are_gone(0ms));
}

TEST_F(RunningJob, SigusrOneReachesTheRanks) {
  start(2, "trap 'exit 75' USR1; touch $PIDS/pid.$$; while :; do sleep 0.1; done", 2);
  ::kill(launcher_, SIGUSR1);
  EXPECT_EQ(wait_for_launcher(5s), 75);
}

}  // namespace
}  // namespace lockstep::test
