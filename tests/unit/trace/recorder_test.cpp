#include <latch>
#include <thread>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/trace/recorder.h>

namespace lockstep::test {
namespace {

using namespace trace;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> names(const Track& track) {
  std::vector<std::string> result;
  for (const Event& event : track.events) result.push_back(event.name);
  return result;
}

TEST(Recorder, HearsNothingUnlessItIsOn) {
  { const Span span("before"); }
  add_communication("before", Clock::now(), Clock::now());
  start_recording();
  const Recording recording = stop_recording();
  EXPECT_THAT(recording.tracks, IsEmpty());
  EXPECT_THAT(stop_recording().tracks, IsEmpty());
}

TEST(Recorder, PutsSpansOneInsideTheOther) {
  start_recording();
  {
    const Span outer("outer");
    const Span inner("inner", {{{"bytes", 42}}});
  }
  const Recording recording = stop_recording();
  ASSERT_EQ(recording.tracks.size(), 1U);
  const auto& events = recording.tracks[0].events;
  EXPECT_EQ(recording.tracks[0].name, "main");
  ASSERT_THAT(names(recording.tracks[0]), ElementsAre("inner", "outer"));
  EXPECT_LE(events[1].began, events[0].began);
  EXPECT_LE(events[0].began, events[0].ended);
  EXPECT_LE(events[0].ended, events[1].ended);
  EXPECT_THAT(events[0].details, ElementsAre(std::pair<std::string, std::int64_t>("bytes", 42)));
}

TEST(Recorder, LeavesOutSpansThatAreCutByItsBeginningOrEnd) {
  auto early = std::make_unique<Span>("early");
  start_recording();
  early.reset();
  { const Span whole("whole"); }
  auto late = std::make_unique<Span>("late");
  const Recording recording = stop_recording();
  late.reset();
  ASSERT_EQ(recording.tracks.size(), 1U);
  EXPECT_THAT(names(recording.tracks[0]), ElementsAre("whole"));
  auto over = std::make_unique<Span>("over");
  start_recording();
  over.reset();
  auto from_the_first = std::make_unique<Span>("from the first");
  stop_recording();
  start_recording();
  from_the_first.reset();
  EXPECT_THAT(stop_recording().tracks, IsEmpty());
}

TEST(Recorder, HasATrackForEachThread) {
  constexpr int kThreads = 4, kSpans = 1000;
  start_recording();
  std::vector<std::thread> threads;
  std::latch together(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      ::pthread_setname_np(::pthread_self(), "worker");
      together.arrive_and_wait();
      for (int n = 0; n < kSpans; ++n) const Span span("work");
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Recording recording = stop_recording();
  ASSERT_EQ(recording.tracks.size(), static_cast<std::size_t>(kThreads));
  for (const Track& track : recording.tracks) {
    EXPECT_EQ(track.name, "worker");
    EXPECT_EQ(track.events.size(), static_cast<std::size_t>(kSpans));
  }
}

TEST(Recorder, CountsWhatItHasNoRoomFor) {
  start_recording({.events_of_thread = 3, .threads = 1});
  for (int i = 0; i < 5; ++i) const Span span("work");
  std::thread([] { const Span span("another thread's"); }).join();
  for (int i = 0; i < 4; ++i) add_communication("all_reduce", Clock::now(), Clock::now());
  const Recording recording = stop_recording();
  ASSERT_EQ(recording.tracks.size(), 2U);
  EXPECT_EQ(recording.tracks[0].events.size(), 3U);
  EXPECT_EQ(recording.tracks[1].name, "communication");
  EXPECT_EQ(recording.lost, 2 + 1 + 1);
}

TEST(Recorder, WaitsForADeviceBeforeItLooksAtTheClock) {
  int settled = 0;
  start_recording({.settle = [&] { ++settled; }});
  { const Span span("work"); }
  now();
  stop_recording();
  EXPECT_EQ(settled, 3);
  now();
  EXPECT_EQ(settled, 3);
}

TEST(Recorder, RefusesASecondRecording) {
  start_recording();
  EXPECT_THROW(start_recording(), UsageError);
  stop_recording();
}

}  // namespace
}  // namespace lockstep::test
