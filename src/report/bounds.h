// Which values the axes of a plot show.
#pragma once
#include <vector>

#include "figure.h"

namespace lockstep::report {

// From the least to the greatest of some values; unknown of none.
struct Bounds {
  double low = kUnknown, high = kUnknown;

  // NaN and infinities do not count; on a logarithm nor do 0 and less.
  void add(double value, bool is_log);
  void add(const Bounds& other);
};

struct SeriesBounds {
  Bounds x, y;
  Bounds late;  // y without the first twentieth of the points
};
SeriesBounds bounds_of(const Series& series, const LineChart& chart);

// A run's first steps can be far from all that comes later, and would press that into a corner. Where the y axis would
// be more than three times as long with the first twentieth of each curve, it goes without, and the curves are cut off.
struct ChartBounds {
  Bounds x, y;
  bool is_cut = false;
};
ChartBounds bounds_of(const LineChart& chart);

}  // namespace lockstep::report
