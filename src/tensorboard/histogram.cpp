#include "histogram.h"

#include <algorithm>
#include <numeric>

namespace lockstep::tensorboard {
namespace {

// Each `joined` neighbours become one; the last may be of fewer.
void join_bins(std::vector<double>& counts, std::vector<double>& edges, std::size_t joined) {
  std::vector<double> fewer_counts, fewer_edges;
  for (std::size_t i = 0; i < counts.size(); i += joined) {
    const std::size_t end = std::min(counts.size(), i + joined);
    fewer_counts.push_back(std::accumulate(counts.begin() + static_cast<std::ptrdiff_t>(i),
                                           counts.begin() + static_cast<std::ptrdiff_t>(end), 0.0));
    fewer_edges.push_back(edges[i]);
  }
  fewer_edges.push_back(edges.back());
  counts = std::move(fewer_counts), edges = std::move(fewer_edges);
}

}  // namespace

const std::vector<double>& tensorflow_edges() {
  static const std::vector<double> edges = [] {
    std::vector<double> positive;
    for (double edge = 1e-12; edge < 1e20; edge *= 1.1) positive.push_back(edge);
    std::vector<double> all(positive.rbegin(), positive.rend());
    for (double& edge : all) edge = -edge;
    all.push_back(0);
    all.insert(all.end(), positive.begin(), positive.end());
    return all;
  }();
  return edges;
}

std::vector<double> equal_edges(std::span<const double> values, int bins) {
  auto [least, greatest] = std::ranges::minmax(values);
  if (least == greatest) least -= 0.5, greatest += 0.5;
  std::vector<double> edges;
  const double width = (greatest - least) / bins;
  for (int i = 0; i < bins; ++i) edges.push_back(least + width * i);
  edges.push_back(greatest);
  return edges;
}

Counted count(std::span<const double> values, std::span<const double> edges, int max_bins) {
  std::vector<double> counts(edges.size() - 1), limits(edges.begin(), edges.end());
  for (const double value : values) {
    if (value < edges.front() || value > edges.back()) continue;
    const auto right = std::upper_bound(edges.begin(), edges.end(), value);
    const auto bin = static_cast<std::size_t>(right - edges.begin()) - 1;
    ++counts[std::min(bin, counts.size() - 1)];
  }
  if (max_bins > 0 && counts.size() > static_cast<std::size_t>(max_bins)) {
    join_bins(counts, limits, counts.size() / static_cast<std::size_t>(max_bins));
  }
  const auto is_filled = [](double bin) { return bin > 0; };
  const auto first = std::find_if(counts.begin(), counts.end(), is_filled);
  if (first == counts.end()) return {};
  const auto last = std::find_if(counts.rbegin(), counts.rend(), is_filled).base();
  const std::ptrdiff_t begin = first - counts.begin(), end = last - counts.begin();
  Counted counted;
  counted.counts.push_back(0);
  counted.counts.insert(counted.counts.end(), first, last);
  counted.limits.assign(limits.begin() + begin, limits.begin() + end + 1);
  return counted;
}

}  // namespace lockstep::tensorboard
