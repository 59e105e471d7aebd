#include "base/sigpipe_blocked.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <thread>

#include <gtest/gtest.h>

#include <lockstep/base/fd.h>

namespace lockstep {
namespace {

// The error of a write to a pipe that nobody reads.
int write_for_nobody() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  const UniqueFd writer(ends[1]);
  ::close(ends[0]);
  return ::write(writer.get(), "x", 1) < 0 ? errno : 0;
}

// In a process of its own, where no earlier test has touched the signal.
class SigpipeBlockedDeathTest : public ::testing::Test {
 protected:
  SigpipeBlockedDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(SigpipeBlockedDeathTest, TurnsTheSignalIntoAnError) {
  const auto write_while_blocked = [] {
    int error = 0;
    {
      const SigpipeBlocked blocked;
      error = write_for_nobody();
    }
    std::_Exit(error);  // alive after it, too
  };
  EXPECT_EXIT(write_while_blocked(), ::testing::ExitedWithCode(EPIPE), "");
}

TEST_F(SigpipeBlockedDeathTest, LeavesTheSignalAsItWas) {
  const auto write_afterwards = [] {
    { const SigpipeBlocked blocked; }
    write_for_nobody();
  };
  EXPECT_EXIT(write_afterwards(), ::testing::KilledBySignal(SIGPIPE), "");
}

TEST_F(SigpipeBlockedDeathTest, StaysForThreadsThatWereStartedMeanwhile) {
  const auto write_in_thread = [] {
    std::thread thread;
    int error = 0;
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    {
      const SigpipeBlocked blocked;
      thread = std::thread([&] {
        char go = 0;
        if (::read(ends[0], &go, 1) == 1) error = write_for_nobody();
      });
    }
    EXPECT_EQ(::write(ends[1], "x", 1), 1);
    thread.join();
    std::_Exit(error);
  };
  EXPECT_EXIT(write_in_thread(), ::testing::ExitedWithCode(EPIPE), "");
}

}  // namespace
}  // namespace lockstep
