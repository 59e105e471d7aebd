#include "packed_matrix.h"

#include <ATen/ops/empty.h>

namespace lockstep::kernels {

PackedMatrix make_packed(const Products& products, std::int64_t taps, std::int64_t depth, std::int64_t columns) {
  PackedMatrix matrix{.taps = taps, .depth = depth, .columns = columns, .panel = products.panel, .values = {}};
  matrix.values = at::empty({matrix.panels() * taps * depth * matrix.panel}, at::kFloat);
  if (columns % matrix.panel != 0) matrix.values.zero_();
  return matrix;
}

}  // namespace lockstep::kernels
