// The launcher in a terminal: keys that are pressed there, and its end.
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <lockstep/base/fd.h>

#include "running_job.h"

namespace lockstep::test {
namespace {

using namespace std::chrono_literals;

class Terminal : public ::testing::Test {
 protected:
  // As a user's shell would: the launcher is in the terminal's foreground.
  void start(const Words& flags, const Words& program, std::size_t ranks) {
    const Words words = run_words(flags, program);
    int terminal = -1;
    launcher_ = ::forkpty(&terminal, nullptr, nullptr, nullptr);
    ASSERT_GE(launcher_, 0);
    if (launcher_ == 0) {
      ::setenv("MARKS", marks_.folder().c_str(), 1);
      std::vector<char*> arguments;
      for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
      arguments.push_back(nullptr);
      ::execv(arguments[0], arguments.data());
      ::_exit(127);
    }
    terminal_ = UniqueFd(terminal);
    ASSERT_EQ(marks_.await("up", ranks).size(), ranks);
  }

  void press(char key) const { ASSERT_EQ(::write(terminal_.get(), &key, 1), 1); }

  bool nothing_is_left() {
    return eventually(
        [&] {
          ::waitpid(launcher_, nullptr, WNOHANG);
          return processes_with("MARKS=" + marks_.folder().string()).empty();
        },
        kPromised);
  }

  void TearDown() override {
    for (const int pid : processes_with("MARKS=" + marks_.folder().string())) ::kill(pid, SIGKILL);
    ::waitpid(launcher_, nullptr, WNOHANG);
  }

  static constexpr char kControlC = 3;
  pid_t launcher_ = -1;
  UniqueFd terminal_;
  Marks marks_;
};

TEST_F(Terminal, ControlC_AsksOnceAndThenEnds) {
  start({"-n", "2", "--grace", "1"}, script("trap 'mark asked' INT; mark up; while :; do sleep 0.05; done"), 2);
  press(kControlC);
  EXPECT_EQ(marks_.await("asked", 2).size(), 2U);
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(Terminal, ControlCTwice_EndsAtOnce) {
  start({"-n", "2", "--grace", "600"}, script("trap 'mark asked' INT; mark up; while :; do sleep 0.05; done"), 2);
  press(kControlC);
  ASSERT_EQ(marks_.await("asked", 2).size(), 2U);
  press(kControlC);
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(Terminal, ThatIsClosed_EndsTheJob) {
  for (const char* text : {kSleep, kStubborn, kWithRunaway}) {
    start({"-n", "2"}, script(text), 2);
    // One that is about to become another program has no environment for a moment.
    const auto are_there = [&] { return processes_with("MARKS=" + marks_.folder().string()).size() >= 4; };
    ASSERT_TRUE(eventually(are_there, 10s));
    terminal_.reset();
    EXPECT_TRUE(nothing_is_left()) << text;
    marks_.forget();
  }
}

// Nobody reads what a chatty rank prints there, and then the terminal is gone.
TEST_F(Terminal, ThatIsFullAndClosed_EndsTheJob) {
  start({"-n", "2"}, script("mark up; exec yes"), 2);
  terminal_.reset();
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(Terminal, WhoseLauncherIsKilled_IsFreeOfTheJob) {
  start({"-n", "2"}, script(kWithRunaway), 2);
  ::kill(launcher_, SIGKILL);
  EXPECT_TRUE(nothing_is_left());
}

}  // namespace
}  // namespace lockstep::test
