#include <fcntl.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include "launch/event_loop.h"

namespace lockstep::launch {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Pipe {
  Pipe() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    read = UniqueFd(ends[0]);
    write = UniqueFd(ends[1]);
  }
  void fill() const { EXPECT_EQ(::write(write.get(), "x", 1), 1); }
  UniqueFd read, write;
};

class Loop : public ::testing::Test {
 protected:
  // Its callback takes what is there and notes the number.
  void watch(int number) {
    loop_.watch(pipes_[number].read.get(), [this, number] {
      char byte = 0;
      EXPECT_EQ(::read(pipes_[number].read.get(), &byte, 1), 1);
      called_.push_back(number);
    });
  }
  void turn() { loop_.turn(Clock::now()); }

  EventLoop loop_;
  Pipe pipes_[4];
  std::vector<int> called_;
};

TEST_F(Loop, CallsBackInTheOrderInWhichDescriptorsBecameReady) {
  for (int number = 0; number < 4; ++number) watch(number);
  for (const int number : {2, 0, 3, 1}) pipes_[number].fill();
  turn();
  EXPECT_THAT(called_, ElementsAre(2, 0, 3, 1));
}

TEST_F(Loop, CallsNobodyBackWhenNothingIsReady) {
  watch(0);
  turn();
  EXPECT_THAT(called_, IsEmpty());
}

TEST_F(Loop, ForgetsWhatAnEarlierCallbackUnwatched) {
  loop_.watch(pipes_[0].read.get(), [this] {
    called_.push_back(0);
    loop_.unwatch(pipes_[1].read.get());
    loop_.unwatch(pipes_[0].read.get());
  });
  watch(1);
  pipes_[0].fill();
  pipes_[1].fill();
  turn();
  turn();
  EXPECT_THAT(called_, ElementsAre(0));
}

TEST_F(Loop, ReplacesAWatchByALaterOne) {
  loop_.watch(pipes_[0].read.get(), [this] { called_.push_back(99); });
  watch(0);
  pipes_[0].fill();
  turn();
  EXPECT_THAT(called_, ElementsAre(0));
}

TEST_F(Loop, WaitsUntilItsTime) {
  const auto deadline = Clock::now() + 20ms;
  loop_.turn(deadline);
  EXPECT_GE(Clock::now(), deadline);
}

}  // namespace
}  // namespace lockstep::launch
