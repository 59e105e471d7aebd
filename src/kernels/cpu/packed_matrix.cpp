#include "packed_matrix.h"

#include <ATen/ops/empty.h>

#include "../parallel.h"

namespace lockstep::kernels {
namespace {

// Calls body(first column, columns, where they go) for every panel.
template <typename Body>
void for_panels(const PackedMatrix& matrix, Body body) {
  auto* values = matrix.values.mutable_data_ptr<float>();
  parallel_for(0, matrix.panels(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t panel = begin; panel < end; ++panel) {
      body(panel * matrix.panel, matrix.columns_of(panel), values + panel * matrix.depth * matrix.panel);
    }
  });
}

}  // namespace

PackedMatrix make_packed(const Products& products, std::int64_t taps, std::int64_t depth, std::int64_t columns) {
  PackedMatrix matrix{.taps = taps, .depth = depth, .columns = columns, .panel = products.panel, .values = {}};
  matrix.values = at::empty({matrix.panels() * taps * depth * matrix.panel}, at::kFloat);
  if (columns % matrix.panel != 0) matrix.values.zero_();
  return matrix;
}

PackedMatrix packed(const at::Tensor& matrix) {
  PackedMatrix result = make_packed(*products(), /*taps=*/1, /*depth=*/matrix.size(0), /*columns=*/matrix.size(1));
  const at::Tensor dense = matrix.contiguous();
  const float* from = dense.const_data_ptr<float>();
  for_panels(result, [&](std::int64_t column, std::int64_t columns, float* to) {
    products()->copy_panels({.from = from + column,
                             .from_stride = result.columns,
                             .rows = result.depth,
                             .columns = columns,
                             .to = to,
                             .panel_stride = 0});
  });
  return result;
}

PackedMatrix packed_transposed(const at::Tensor& matrix) {
  PackedMatrix result = make_packed(*products(), /*taps=*/1, /*depth=*/matrix.size(1), /*columns=*/matrix.size(0));
  const at::Tensor dense = matrix.contiguous();
  const float* from = dense.const_data_ptr<float>();
  for_panels(result, [&](std::int64_t column, std::int64_t columns, float* to) {
    products()->copy_turned({.from = from + column * result.depth,
                             .from_stride = result.depth,
                             .rows = columns,
                             .columns = result.depth,
                             .to = to});
  });
  return result;
}

}  // namespace lockstep::kernels
