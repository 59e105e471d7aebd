#include "report/scale.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "report/decimate.h"

namespace lockstep::report {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::Pointwise;

TEST(Scale, PutsValuesInTheirPlaces) {
  const Scale linear{.low = 10, .high = 20, .from = 100, .to = 200};
  EXPECT_EQ(linear.at(10), 100);
  EXPECT_EQ(linear.at(15), 150);
  const Scale upward{.low = 0, .high = 1, .from = 300, .to = 0};
  EXPECT_EQ(upward.at(1), 0);
  const Scale log{.low = 1, .high = 100, .from = 0, .to = 10, .is_log = true};
  EXPECT_DOUBLE_EQ(log.at(10), 5);
  EXPECT_TRUE(std::isnan(log.at(0)) && std::isnan(log.at(-1)) && std::isnan(linear.at(kUnknown)));
}

TEST(TicksFor, TakesRoundNumbersAndRoundBounds) {
  const Ticks ticks = ticks_for({.title = ""}, 0.13, 0.91, true);
  EXPECT_THAT(ticks.texts, ElementsAre("0.0", "0.2", "0.4", "0.6", "0.8", "1.0"));
  EXPECT_DOUBLE_EQ(ticks.low, 0);
  EXPECT_DOUBLE_EQ(ticks.high, 1);
}

TEST(TicksFor, KeepsTheBoundsOfAnAxisThatIsNotRounded) {
  const Ticks ticks = ticks_for({.title = ""}, 3, 93, false);
  EXPECT_EQ(ticks.low, 3);
  EXPECT_EQ(ticks.high, 93);
  EXPECT_THAT(ticks.texts, ElementsAre("20", "40", "60", "80"));
}

TEST(TicksFor, TellsCloseValuesApart) {
  EXPECT_THAT(ticks_for({.title = "", .unit = Unit::kPercent}, 0.9812, 0.9838, true).texts,
              ElementsAre("98.10%", "98.15%", "98.20%", "98.25%", "98.30%", "98.35%", "98.40%"));
}

TEST(TicksFor, UsesPowersOnALogarithm) {
  const Axis axis{.title = "", .is_log = true};
  EXPECT_THAT(ticks_for(axis, 3, 40'000, true).texts, ElementsAre("10", "100", "1000", "10k"));
  EXPECT_THAT(ticks_for(axis, 0.04, 0.6, true).texts, ElementsAre("0.05", "0.1", "0.2", "0.5"));
  EXPECT_THAT(
      ticks_for({.title = "", .unit = Unit::kBytes, .is_log = true, .ticks = {4096, 1 << 20}}, 4096, 1 << 20, false)
          .texts,
      ElementsAre("4 KiB", "1 MiB"));
}

TEST(TicksFor, FindsRoomForOneValueAndForNone) {
  for (const double value : {0.0, 5.0, -5.0, 1e-300, 1e300, kUnknown}) {
    for (const bool is_log : {false, true}) {
      const Ticks ticks = ticks_for({.title = "", .is_log = is_log}, value, value, true);
      EXPECT_LT(ticks.low, ticks.high) << value;
      EXPECT_LE(ticks.values.size(), 12U) << value;
    }
  }
}

TEST(NumberText, ShowsWhatCounts) {
  EXPECT_EQ(number_text(0.123456789), "0.12346");
  EXPECT_EQ(number_text(12345.678), "12,346");
  EXPECT_EQ(number_text(7), "7");
  EXPECT_EQ(number_text(0.98765, Unit::kPercent), "98.77%");
  EXPECT_EQ(number_text(kUnknown), "");
}

std::vector<double> ys(const std::vector<Point>& points) {
  std::vector<double> all;
  for (const Point& point : points) all.push_back(point.y);
  return all;
}

TEST(Decimate, KeepsTheEndsAndTheExtremesOfEachColumn) {
  const Scale x{.low = 0, .high = 100, .from = 0, .to = 2};
  const std::vector<Point> points = {{0, 5},  {5, 6},    {10, 1}, {15, 7}, {20, 9}, {25, 4}, {30, 5},
                                     {60, 2}, {65, 2.5}, {70, 3}, {75, 8}, {80, 7}, {99, 6}};
  EXPECT_THAT(ys(decimate(points, x)), Pointwise(DoubleEq(), {5, 1, 9, 5, 2, 8, 6}));
}

TEST(Decimate, LeavesFewPointsAlone) {
  const Scale x{.low = 0, .high = 1, .from = 0, .to = 400};
  EXPECT_EQ(decimate(std::vector<Point>(800, {0.5, 1}), x).size(), 800U);
}

TEST(Decimate, BoundsAMillionPointsAndKeepsTheirPeakAndGap) {
  std::vector<Point> points;
  for (int i = 0; i < 1'000'000; ++i) points.push_back({static_cast<double>(i), static_cast<double>(i % 7)});
  points[123'456].y = 1000;
  points[654'321].y = kUnknown;
  const Scale x{.low = 0, .high = 1e6, .from = 0, .to = 400};
  const auto kept = decimate(points, x);
  EXPECT_LE(kept.size(), 5U * 401);
  EXPECT_EQ(std::count_if(kept.begin(), kept.end(), [](const Point& point) { return point.y == 1000; }), 1);
  EXPECT_EQ(std::count_if(kept.begin(), kept.end(), [](const Point& point) { return std::isnan(point.y); }), 1);
}

}  // namespace
}  // namespace lockstep::report
