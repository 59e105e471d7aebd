#include "compare_ratios.h"

#include <algorithm>

namespace lockstep::bench {
namespace {

Ratio spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {.median = values[values.size() / 2], .least = values.front(), .greatest = values.back()};
}

void conclude(ComparedSide& side) {
  const Ratio speed = spread_of(side.samples_per_second);
  side.median = speed.median;
  side.least = speed.least;
  side.greatest = speed.greatest;
}

// Of the peers that are tuned, or of those that are not.
std::optional<std::size_t> fastest(const std::vector<ComparedSide>& peers, bool tuned) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (!peers[i].failure.empty() || peers[i].tuned != tuned) continue;
    if (!best || peers[i].median > peers[*best].median) best = i;
  }
  return best;
}

std::optional<Ratio> over(const CompareRow& row, const std::optional<std::size_t>& peer) {
  if (!peer) return std::nullopt;
  std::vector<double> ratios;
  const std::vector<double>& theirs = row.peers[*peer].samples_per_second;
  for (std::size_t round = 0; round < theirs.size(); ++round) {
    ratios.push_back(row.ours.samples_per_second[round] / theirs[round]);
  }
  return spread_of(std::move(ratios));
}

}  // namespace

void conclude(CompareRow& row) {
  conclude(row.ours);
  for (ComparedSide& peer : row.peers) conclude(peer);
  row.best = fastest(row.peers, /*tuned=*/false);
  row.tuned = fastest(row.peers, /*tuned=*/true);
  row.over_best = over(row, row.best);
  row.over_tuned = over(row, row.tuned);
}

}  // namespace lockstep::bench
