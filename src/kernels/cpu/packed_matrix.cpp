#include "packed_matrix.h"

#include <algorithm>

#include <ATen/Parallel.h>

#include <ATen/ops/empty.h>
#include "../parallel.h"

namespace lockstep::kernels::cpu {
namespace {

PackedMatrix make_packed(const Products& products, std::int64_t taps, std::int64_t depth, std::int64_t columns) {
  PackedMatrix matrix{.taps = taps, .depth = depth, .columns = columns, .panel = products.panel, .values = {}};
  matrix.values = at::empty({matrix.panels() * taps * depth * matrix.panel}, at::kFloat);
  return matrix;
}

// Calls fill(to, panel, tap) for each, on all threads.
template <typename Fill>
void fill_panels(PackedMatrix& matrix, Fill fill) {
  float* values = matrix.values.mutable_data_ptr<float>();
  constexpr std::int64_t kGrain = 8192;  // values that are worth a thread
  const std::int64_t size = matrix.depth * matrix.panel;
  parallel_for(0, matrix.panels() * matrix.taps, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(size, 1)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   fill(values + i * size, i / matrix.taps, i % matrix.taps);
                 }
               });
}

}  // namespace

PackedMatrix pack_columns(const Products& products, const float* from, std::int64_t columns, std::int64_t taps,
                          std::int64_t depth) {
  PackedMatrix matrix = make_packed(products, taps, depth, columns);
  fill_panels(matrix, [&](float* to, std::int64_t panel, std::int64_t tap) {
    const std::int64_t here = matrix.columns_of(panel);
    constexpr std::int64_t kLine = 16;  // of values, so that what is written stays near
    for (std::int64_t start = 0; start < depth; start += kLine) {
      const std::int64_t end = std::min(depth, start + kLine);
      for (std::int64_t column = 0; column < matrix.panel; ++column) {
        const float* row = from + ((panel * matrix.panel + column) * taps + tap) * depth;
        for (std::int64_t k = start; k < end; ++k) to[k * matrix.panel + column] = column < here ? row[k] : 0;
      }
    }
  });
  return matrix;
}

PackedMatrix pack_rows(const Products& products, const float* from, std::int64_t depth, std::int64_t all_taps,
                       const std::vector<std::int64_t>& taps, std::int64_t columns) {
  PackedMatrix matrix = make_packed(products, static_cast<std::int64_t>(taps.size()), depth, columns);
  fill_panels(matrix, [&](float* to, std::int64_t panel, std::int64_t tap) {
    const std::int64_t here = matrix.columns_of(panel);
    for (std::int64_t k = 0; k < depth; ++k, to += matrix.panel) {
      const float* row = from + (k * all_taps + taps[static_cast<std::size_t>(tap)]) * columns + panel * matrix.panel;
      std::fill(std::copy_n(row, here, to), to + matrix.panel, 0.0F);
    }
  });
  return matrix;
}

}  // namespace lockstep::kernels::cpu
