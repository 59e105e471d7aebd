#include <lockstep/optim/schedule_trace.h>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep::optim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

std::vector<double> times(const Trace& trace, const std::vector<RatePoint>& points) {
  std::vector<double> result;
  for (const auto& point : points) result.push_back(trace.time_of(point));
  return result;
}

TEST(Trace, EndsWhereTheScheduleDoes) {
  const Trace trace = trace_schedule(warm_up({.length = 2, .from = 0.5}) + cosine({.length = 2}), {.rate = 1}, {});
  EXPECT_THAT(times(trace, trace.points), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(trace.points[1].rate, 0.75);
}

TEST(Trace, CountsFractionsOfEpochsWhereStepsAreGiven) {
  const Trace trace = trace_schedule(polynomial({.length = 2}), {.rate = 1}, {.steps_per_epoch = 2});
  EXPECT_THAT(times(trace, trace.points), ElementsAre(0, 0.5, 1, 1.5));
  EXPECT_EQ(trace.points[3].rate, 0.25);
}

TEST(Trace, ShowsEachChangeOrEqualDistances) {
  const Trace steps = trace_schedule(step({.every = 30}), {}, {.epochs = 90});
  EXPECT_THAT(times(steps, points_to_show(steps, 20)), ElementsAre(0, 30, 60, 89));
  const Trace smooth = trace_schedule(cosine({.length = 101}), {}, {});
  EXPECT_THAT(times(smooth, points_to_show(smooth, 6)), ElementsAre(0, 20, 40, 60, 80, 100));
  EXPECT_THAT(times(smooth, points_to_show(smooth, 5)), ElementsAre(0, 50, 100));
  const Trace odd = trace_schedule(cosine({.length = 98}), {}, {});
  EXPECT_THAT(times(odd, points_to_show(odd, 6)), ElementsAre(0, 20, 40, 60, 80, 97));
}

TEST(Trace, GivesAPlateauAMetricThatNeverImproves) {
  const Trace trace = trace_schedule(plateau({.factor = 0.5, .patience = 1}), {.rate = 1}, {.epochs = 6});
  EXPECT_THAT(times(trace, points_to_show(trace, 20)), ElementsAre(0, 3, 5));
  const Trace better = trace_schedule(plateau({.patience = 1}), {.rate = 1}, {.metrics = {5, 4, 3, 2}});
  EXPECT_THAT(times(better, points_to_show(better, 20)), ElementsAre(0, 3));
}

TEST(Trace, RefusesRunsThatCannotBeShown) {
  const auto of = [](const Schedule& schedule, const TraceOptions& options) {
    return [schedule, options] { trace_schedule(schedule, {}, options); };
  };
  EXPECT_THAT(of(constant(), {}), ThrowsMessage<UsageError>(HasSubstr("--epochs")));
  EXPECT_THAT(of(constant(), {.epochs = 1, .steps = 1}), ThrowsMessage<UsageError>(HasSubstr("one too many")));
  EXPECT_THAT(of(constant(), {.epochs = 0}), ThrowsMessage<UsageError>(HasSubstr("a run of 0")));
  EXPECT_THAT(of(cosine({.length = 1e15}), {}), ThrowsMessage<UsageError>(HasSubstr("too long")));
  EXPECT_THAT(of(constant(), {.epochs = 5, .metrics = {1}}), ThrowsMessage<UsageError>(HasSubstr("no metric")));
  EXPECT_THAT(of(plateau({}), {.epochs = 5, .metrics = {1}}), ThrowsMessage<UsageError>(HasSubstr("1 metric")));
  EXPECT_THAT(of(plateau({}), {.steps = 5}), ThrowsMessage<UsageError>(HasSubstr("once an epoch")));
}

TEST(Plot, DrawsAFallFromTheTopLeftToTheBottomRight) {
  const Trace trace = trace_schedule(polynomial({.length = 40}), {.rate = 1}, {.epochs = 41});
  const auto lines = split(plot(trace, {.width = 47, .height = 5, .unicode = false}), '\n');
  ASSERT_THAT(lines, SizeIs(10));
  EXPECT_EQ(lines[0], "rate");
  EXPECT_EQ(lines[1], "   1 +*******");
  EXPECT_THAT(lines[3], HasSubstr(" 0.5 +"));
  EXPECT_THAT(lines[5], HasSubstr("   0 +                                    *****"));
  EXPECT_EQ(lines[6], "     +-----------------------------------------");
  EXPECT_EQ(lines[7], "      0                  20                  40");
  EXPECT_EQ(lines[8], "                        epoch");
}

TEST(Plot, FillsTheWidthItIsGivenAndNoMore) {
  const Trace trace = trace_schedule(cosine({.length = 7}), {}, {});
  for (const int width : {40, 80, 133}) {
    for (const auto& line : split(plot(trace, {.width = width, .unicode = false}), '\n')) {
      EXPECT_THAT(line.size(), Le(static_cast<std::size_t>(width))) << line;
    }
  }
}

TEST(Plot, HasFourTimesTheRowsInBraille) {
  // A constant is the highest dot of each cell in the first line.
  const Trace trace = trace_schedule(constant(), {.rate = 1}, {.epochs = 3});
  const auto lines = split(plot(trace, {.width = 40, .height = 4}), '\n');
  EXPECT_THAT(lines[1], HasSubstr("┤⠉⠉⠉⠉"));
  EXPECT_EQ(lines[2], "     │");
}

}  // namespace
}  // namespace lockstep::optim
