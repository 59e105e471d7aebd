// Histograms with the bins, and the way to count, of NumPy and tensorboardX.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::tensorboard {

// Edges from -1e20 to 1e20 that grow by a tenth, and 0 between them.
const std::vector<double>& tensorflow_edges();

// `bins` of one width between the least and the greatest value, which are finite; half to each side when they are
// equal.
std::vector<double> equal_edges(std::span<const double> values, int bins);

struct Counted {
  std::vector<double> counts, limits;  // limits[i] is the right edge of counts[i]
};

// Counts finite values. A bin has its left edge and lacks its right, but for the last, which has both; what lies
// outside is not counted. More bins than `max_bins` (not 0) are joined. Empty bins at both ends go, but for one on the
// left, which tells where the first begins.
Counted count(std::span<const double> values, std::span<const double> edges, int max_bins);

}  // namespace lockstep::tensorboard
