// What is concluded from spans, by hand-made ones.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/trace/anatomy.h>
#include <lockstep/trace/summary.h>

namespace lockstep::test {
namespace {

using namespace trace;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kMs = 1'000'000;

Event event(const char* name, std::int64_t from, std::int64_t to,
            std::vector<std::pair<std::string, std::int64_t>> details = {}) {
  return {.name = name, .began = from * kMs, .ended = to * kMs, .details = std::move(details)};
}

// A step of 100 ms from `at` on: data 10, forward 20, backward 60 of which the last `wait` wait, update 10. Two
// buckets: ready 20 and 50 ms after backward began, reduced until its end.
void add_step(Recording& recording, std::int64_t at, std::int64_t wait) {
  const std::int64_t backward = at + 30, end = at + 90;
  auto& main = recording.tracks.at(0).events;
  for (const Event& each :
       {event("data", at, at + 10), event("forward", at + 10, at + 28), event("loss", at + 28, at + 30),
        event("all_reduce.wait", end - wait, end, {{"bucket", 0}}), event("backward", backward, end),
        event("optimizer.step", end, at + 100), event("iteration", at, at + 100)}) {
    main.push_back(each);
  }
  auto& collectives = recording.tracks.at(1).events;
  collectives.push_back(
      event("all_reduce", backward + 20, backward + 55, {{"bucket", 0}, {"bytes", 1000}, {"queued_ns", 0}}));
  collectives.push_back(
      event("all_reduce", backward + 55, end, {{"bucket", 1}, {"bytes", 500}, {"queued_ns", 5 * kMs}}));
}

RankTimeline rank_that_waits(int rank, std::int64_t wait) {
  RankTimeline timeline{.rank = rank, .host = "a"};
  timeline.recording.tracks = {{.name = "main", .events = {}}, {.name = "communication", .events = {}}};
  for (std::int64_t step = 0; step < 3; ++step) add_step(timeline.recording, 1000 * step, wait);
  return timeline;
}

TEST(Summary, NamesTheRankThatOthersWaitFor) {
  const Summary summary = summarize({rank_that_waits(0, 10), rank_that_waits(1, 2), rank_that_waits(2, 10)});
  EXPECT_EQ(summary.steps, 3);
  EXPECT_DOUBLE_EQ(summary.step, 100);
  EXPECT_EQ(summary.slowest, 1);
  EXPECT_DOUBLE_EQ(summary.behind, 98.0 / 90 - 1);
  EXPECT_EQ(summary.communicated, 1500);
  EXPECT_DOUBLE_EQ(summary.ranks[0].communication, 40);
  EXPECT_DOUBLE_EQ(summary.ranks[0].exposed, 10);
  EXPECT_DOUBLE_EQ(summary.ranks[1].exposed, 2);
  EXPECT_DOUBLE_EQ(summary.ranks[0].data, 10);
  EXPECT_THAT(describe(summary), ::testing::Contains(HasSubstr("slowest: rank 1")));
}

TEST(Summary, CountsNoStepWhereNoDataWasLeft) {
  RankTimeline timeline = rank_that_waits(0, 10);
  timeline.recording.tracks[0].events.push_back(event("data", 5000, 5001));
  timeline.recording.tracks[0].events.push_back(event("iteration", 5000, 5001));
  EXPECT_EQ(summarize({timeline}).steps, 3);
  EXPECT_DOUBLE_EQ(summarize({timeline}).least, 100);
}

TEST(Summary, OfAGpuLooksAtItsKernels) {
  RankTimeline timeline = rank_that_waits(0, 10);
  timeline.recording.tracks.push_back(
      {.name = "cuda:0 stream 7", .events = {event("gemm", 0, 60), event("gemm", 70, 90)}});
  timeline.recording.tracks.push_back(
      {.name = "cuda:0 stream 9", .events = {event("ncclDevKernel_AllReduce", 50, 75)}});
  const Summary summary = summarize({timeline});
  EXPECT_DOUBLE_EQ(summary.ranks[0].communication * 3, 25);
  EXPECT_DOUBLE_EQ(summary.ranks[0].exposed * 3, 10);
  EXPECT_DOUBLE_EQ(summary.ranks[0].own * 3, 80);
}

TEST(Summary, SaysWhatItDoesNotKnow) {
  EXPECT_THAT(describe(summarize({RankTimeline{}})), ElementsAre(HasSubstr("no whole step")));
  RankTimeline timeline = rank_that_waits(0, 10);
  timeline.recording.lost = 12;
  timeline.clock.uncertainty = 25'000;
  const auto lines = describe(summarize({timeline}));
  EXPECT_THAT(lines, ::testing::Contains(HasSubstr("12 events found no room")));
  EXPECT_THAT(lines, ::testing::Contains(HasSubstr("within 25 us")));
}

TEST(Anatomy, HasThePartsOfTheMedianStepWithoutItsWaits) {
  Recording recording = rank_that_waits(0, 10).recording;
  const Anatomy anatomy = anatomy_of(recording);
  EXPECT_DOUBLE_EQ(anatomy.step, 90);
  EXPECT_DOUBLE_EQ(anatomy.data, 10);
  EXPECT_DOUBLE_EQ(anatomy.forward, 20);
  EXPECT_DOUBLE_EQ(anatomy.backward, 50);
  EXPECT_DOUBLE_EQ(anatomy.update, 10);
  EXPECT_DOUBLE_EQ(anatomy.other(), 0);
  EXPECT_DOUBLE_EQ(anatomy.jitter, 0);
  ASSERT_EQ(anatomy.buckets.size(), 2U);
  EXPECT_EQ(anatomy.buckets[0].bytes, 1000);
  EXPECT_DOUBLE_EQ(anatomy.buckets[0].ready, 20);
  EXPECT_EQ(anatomy.buckets[1].bytes, 500);
  EXPECT_DOUBLE_EQ(anatomy.buckets[1].ready, 50);
  EXPECT_THROW(anatomy_of({}), RuntimeError);
}

TEST(Anatomy, IsReadBackFromJson) {
  const auto value = to_json(anatomy_of(rank_that_waits(0, 10).recording));
  EXPECT_EQ(to_json(anatomy_from_json(value)), value);
  for (const char* key : {"step_milliseconds", "jitter", "buckets"}) {
    auto broken = value;
    broken.erase(key);
    EXPECT_THROW(anatomy_from_json(broken), UsageError) << key;
    broken[key] = -1;
    EXPECT_THROW(anatomy_from_json(broken), UsageError) << key;
  }
}

}  // namespace
}  // namespace lockstep::test
