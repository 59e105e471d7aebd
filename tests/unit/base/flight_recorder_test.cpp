#include "base/flight_recorder.h"

#include <thread>

#include <gmock/gmock.h>

namespace lockstep {
namespace {

TEST(FlightRecorder, KeepsTheLastHundredInOrder) {
  FlightRecorder recorder;
  for (std::uint64_t i = 1; i <= 250; ++i) recorder.end(recorder.start("world", "all_reduce", i, "float32[1]"), true);
  const auto kept = recorder.recent();
  ASSERT_EQ(kept.size(), FlightRecorder::kEntries);
  for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(kept[i].sequence, 151 + i);
  EXPECT_EQ(kept.back().state, FlightEntry::State::kDone);
}

TEST(FlightRecorder, AnEndThatComesAfterItsPlaceWasTakenChangesNothing) {
  FlightRecorder recorder;
  const auto first = recorder.start("world", "broadcast", 1, "");
  for (std::size_t i = 0; i < FlightRecorder::kEntries; ++i) recorder.start("world", "all_reduce", 2 + i, "");
  recorder.end(first, false);
  for (const FlightEntry& entry : recorder.recent()) EXPECT_EQ(entry.state, FlightEntry::State::kRunning);
}

TEST(FlightRecorder, TextIsCutAndHarmless) {
  EXPECT_STREQ(FixedText<5>("abcdefg").c_str(), "abcd");
  EXPECT_STREQ(FixedText<16>("a\"b\\c\nd").c_str(), "a?b?c?d");
}

TEST(FlightRecorder, ManyThreadsLoseNothing) {
  FlightRecorder recorder;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (std::uint64_t i = 1; i <= 1000; ++i) recorder.end(recorder.start("g", "x", i, ""), true);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto kept = recorder.recent();
  ASSERT_EQ(kept.size(), FlightRecorder::kEntries);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(kept[i].ticket, 4000 - kept.size() + 1 + i);
    EXPECT_EQ(kept[i].state, FlightEntry::State::kDone);
  }
}

}  // namespace
}  // namespace lockstep
