#pragma once
#include <algorithm>
#include <cstdint>

#include <ATen/core/Tensor.h>

#include "products.h"

namespace lockstep::kernels {

// Matrices side by side, one for each tap, in the order in which products read them: [panel][tap][depth][column].
struct PackedMatrix {
  std::int64_t taps = 1, depth = 0, columns = 0;
  std::int64_t panel = 0;
  at::Tensor values;

  std::int64_t panels() const { return (columns + panel - 1) / panel; }
  const float* at(std::int64_t panel_number, std::int64_t tap) const {
    return values.const_data_ptr<float>() + (panel_number * taps + tap) * depth * panel;
  }
  std::int64_t columns_of(std::int64_t panel_number) const { return std::min(panel, columns - panel_number * panel); }
};

// Of zeros, or of anything where every column is going to be written.
PackedMatrix make_packed(const Products& products, std::int64_t taps, std::int64_t depth, std::int64_t columns);

// Of a float matrix [row][column], as the right side of a product; or of its transpose.
PackedMatrix packed(const at::Tensor& matrix);
PackedMatrix packed_transposed(const at::Tensor& matrix);

}  // namespace lockstep::kernels
