#include "report/bounds.h"

#include <gtest/gtest.h>

namespace lockstep::report {
namespace {

// As many points as a twentieth is two of, with these values at their beginning and then values from 0.9 to 1.
LineChart chart_of(std::vector<double> beginning, Axis axis = {.title = "top-1"}) {
  Series series;
  for (std::size_t i = 0; i < 40; ++i) {
    const double late = i % 2 == 0 ? 0.9 : 1.0;
    series.points.push_back({.x = static_cast<double>(i), .y = i < beginning.size() ? beginning[i] : late});
  }
  return {.x = {.title = "step"}, .y = std::move(axis), .series = {series}};
}

TEST(Bounds, LeaveOutABeginningThatLiesFarOutside) {
  const ChartBounds bounds = bounds_of(chart_of({0.1, 0.3}));
  EXPECT_TRUE(bounds.is_cut);
  EXPECT_EQ(bounds.y.low, 0.9);
  EXPECT_EQ(bounds.y.high, 1.0);
  EXPECT_EQ(bounds.x.low, 0) << "the other axis has all of it";
  EXPECT_TRUE(bounds_of(chart_of({5, kUnknown})).is_cut) << "above as below";
}

TEST(Bounds, HaveABeginningThatLiesNear) {
  const ChartBounds bounds = bounds_of(chart_of({0.75, 0.8}));
  EXPECT_FALSE(bounds.is_cut);
  EXPECT_EQ(bounds.y.low, 0.75);
}

TEST(Bounds, HaveAllThatLiesOutsideAfterTheFirstTwentieth) {
  EXPECT_FALSE(bounds_of(chart_of({0.1, 0.1, 0.1})).is_cut);
}

TEST(Bounds, HaveAllOfACurveOfFewPoints) {
  LineChart chart = chart_of({0.1});
  chart.series[0].points.resize(19);
  EXPECT_FALSE(bounds_of(chart).is_cut);
}

TEST(Bounds, LeaveNothingOutWhereTheRestIsOneValue) {
  LineChart chart = chart_of({0.1});
  for (std::size_t i = 1; i < chart.series[0].points.size(); ++i) chart.series[0].points[i].y = 1;
  EXPECT_FALSE(bounds_of(chart).is_cut);
}

TEST(Bounds, MeasureAsTheAxisDoes) {
  EXPECT_FALSE(bounds_of(chart_of({2.5, 2.5}, {.title = "rate", .has_zero = true})).is_cut) << "0 to 1, or to 2.5";
  EXPECT_TRUE(bounds_of(chart_of({3.5, 3.5}, {.title = "rate", .has_zero = true})).is_cut);
  EXPECT_FALSE(bounds_of(chart_of({1.2, 1.2}, {.title = "loss", .is_log = true})).is_cut);
  EXPECT_TRUE(bounds_of(chart_of({1.3, 1.3}, {.title = "loss", .is_log = true})).is_cut) << "log 1.44 and log 1.11";
}

}  // namespace
}  // namespace lockstep::report
