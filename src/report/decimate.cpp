#include "decimate.h"

#include <algorithm>
#include <cmath>

namespace lockstep::report {
namespace {

// Points first to last of one column.
void keep_column(const std::vector<Point>& points, std::size_t first, std::size_t last, std::vector<Point>& kept) {
  std::size_t lowest = first, highest = first, gap = last;
  for (std::size_t i = last + 1; i-- > first;) {
    if (std::isnan(points[i].y)) {
      gap = i;
      continue;
    }
    if (!(points[lowest].y <= points[i].y)) lowest = i;
    if (!(points[highest].y >= points[i].y)) highest = i;
  }
  std::vector<std::size_t> chosen = {first, lowest, highest, gap, last};
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  for (const std::size_t i : chosen) kept.push_back(points[i]);
}

}  // namespace

std::vector<Point> decimate(const std::vector<Point>& points, const Scale& x) {
  const auto columns = static_cast<std::size_t>(std::abs(x.to - x.from));
  if (points.size() <= 2 * columns) return points;
  std::vector<Point> kept;
  const auto column = [&](std::size_t i) { return std::floor(x.at(points[i].x)); };
  for (std::size_t first = 0, last = 0; first < points.size(); first = last + 1) {
    for (last = first; last + 1 < points.size() && column(last + 1) == column(first);) ++last;
    keep_column(points, first, last, kept);
  }
  return kept;
}

}  // namespace lockstep::report
