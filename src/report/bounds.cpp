#include "bounds.h"

#include <algorithm>
#include <cmath>

namespace lockstep::report {
namespace {

constexpr std::size_t kBeginning = 20;  // the part of a curve that may be left out is one of so many
constexpr double kMuchLonger = 3;

double length_of(const Bounds& bounds, const Axis& axis) {
  if (axis.is_log) return std::log(bounds.high / bounds.low);
  return axis.has_zero ? std::max(bounds.high, 0.0) - std::min(bounds.low, 0.0) : bounds.high - bounds.low;
}

}  // namespace

void Bounds::add(double value, bool is_log) {
  if (!std::isfinite(value) || (is_log && value <= 0)) return;
  low = std::fmin(low, value);
  high = std::fmax(high, value);
}

void Bounds::add(const Bounds& other) {
  low = std::fmin(low, other.low);
  high = std::fmax(high, other.high);
}

SeriesBounds bounds_of(const Series& series, const LineChart& chart) {
  SeriesBounds bounds;
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    const Point& point = series.points[i];
    if (!std::isfinite(point.y)) continue;
    bounds.x.add(point.x, chart.x.is_log);
    for (const double value : {point.y, point.least, point.greatest}) {
      bounds.y.add(value, chart.y.is_log);
      if (i >= series.points.size() / kBeginning) bounds.late.add(value, chart.y.is_log);
    }
  }
  return bounds;
}

ChartBounds bounds_of(const LineChart& chart) {
  SeriesBounds all;
  for (const Series& series : chart.series) {
    const SeriesBounds one = bounds_of(series, chart);
    all.x.add(one.x);
    all.y.add(one.y);
    all.late.add(one.late);
  }
  const double late = length_of(all.late, chart.y);
  const bool is_cut = late > 0 && length_of(all.y, chart.y) > kMuchLonger * late;
  return {.x = all.x, .y = is_cut ? all.late : all.y, .is_cut = is_cut};
}

}  // namespace lockstep::report
