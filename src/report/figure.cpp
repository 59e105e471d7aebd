#include "figure.h"

#include <algorithm>
#include <cmath>

namespace lockstep::report {

bool is_empty(const Series& series) {
  return std::none_of(series.points.begin(), series.points.end(),
                      [](const Point& point) { return std::isfinite(point.y); });
}

void sort_points(Series& series) {
  std::stable_sort(series.points.begin(), series.points.end(),
                   [](const Point& a, const Point& b) { return a.x < b.x; });
}

std::vector<Figure> all_figures(const Data& data) {
  std::vector<Figure> figures;
  for (auto* part : {&learning_figures, &scaling_figures, &bench_figures}) {
    for (Figure& figure : (*part)(data)) figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace lockstep::report
