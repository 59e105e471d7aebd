#include "matrices.h"

#include <array>
#include <vector>

#include <ATen/ops/empty.h>

#include "divide_up.h"
#include "row_gap.h"
#include "shares.h"

namespace lockstep::kernels {
namespace {

constexpr std::int64_t kDepth = 512;  // of a sum at once, so that a panel and many rows stay in a core's caches
constexpr std::int64_t kBlockFloats = 64 << 10;  // of rows at once
constexpr std::int64_t kRows = 256;              // that a transposed product sums at once

template <typename Float>
std::vector<Float*> rows_of(const MatrixView<Float>& matrix, std::int64_t first, std::int64_t count,
                            std::int64_t column) {
  std::vector<Float*> rows(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) rows[static_cast<std::size_t>(i)] = matrix.row(first + i) + column;
  return rows;
}

// The same values in rows that do not collide.
MatrixView<const float> copied(const MatrixView<const float>& matrix, std::vector<float>& to) {
  const std::int64_t stride = matrix.columns + kRowGap;
  to.resize(static_cast<std::size_t>(matrix.rows * stride));
  for (std::int64_t i = 0; i < matrix.rows; ++i) std::copy_n(matrix.row(i), matrix.columns, to.data() + i * stride);
  return {to.data(), matrix.rows, matrix.columns, stride};
}

// Some rows of a matrix in panels, which a core has in its caches while it sums products of them.
class RowBlock {
 public:
  explicit RowBlock(std::int64_t panels) : values_(at::empty({panels * kRows * products()->panel}, at::kFloat)) {}

  void fill(const MatrixView<const float>& from) {
    products()->copy_panels({.from = from.values,
                             .from_stride = from.stride,
                             .rows = from.rows,
                             .columns = from.columns,
                             .to = values_.mutable_data_ptr<float>(),
                             .panel_stride = kRows * products()->panel});
  }
  const float* panel(std::int64_t number) const {
    return values_.const_data_ptr<float>() + number * kRows * products()->panel;
  }

 private:
  at::Tensor values_;
};

}  // namespace

MatrixView<const float> view(const at::Tensor& matrix) {
  return {matrix.const_data_ptr<float>(), matrix.size(0), matrix.size(1), matrix.stride(0)};
}

MatrixView<float> writable(const at::Tensor& matrix) {
  return {matrix.mutable_data_ptr<float>(), matrix.size(0), matrix.size(1), matrix.stride(0)};
}

void multiply(const MatrixView<const float>& a, const PackedMatrix& b, const MatrixView<float>& c, bool accumulate) {
  const Products& kernels = *products();
  const std::int64_t depth = divide_up(b.depth, divide_up(b.depth, kDepth));
  const std::int64_t most = std::max(kBlockFloats / depth / kernels.row_tile, std::int64_t{1}) * kernels.row_tile;
  const bool collides = would_collide(a.stride);
  const Shares shares(divide_up(a.rows, kernels.row_tile), b.panels());
  shares.for_each([&](const Share& share) {
    std::vector<float> copy;
    const std::int64_t end = std::min(a.rows, share.end_row * kernels.row_tile);
    for (std::int64_t first = share.first_row * kernels.row_tile; first < end; first += most) {
      const std::int64_t rows = std::min(most, end - first);
      const auto to = rows_of(c, first, rows, 0);
      for (std::int64_t start = 0; start < b.depth; start += depth) {
        const std::int64_t columns = std::min(depth, b.depth - start);
        MatrixView<const float> part{a.row(first) + start, rows, columns, a.stride};
        if (collides) part = copied(part, copy);
        const auto from = rows_of(part, 0, rows, 0);
        for (std::int64_t panel = share.first_panel; panel < share.end_panel; ++panel) {
          kernels.multiply_rows({.a = from.data(),
                                 .rows = rows,
                                 .depth = columns,
                                 .b = b.at(panel, 0) + start * b.panel,
                                 .c = to.data(),
                                 .column = panel * b.panel,
                                 .columns = b.columns_of(panel),
                                 .accumulate = accumulate || start > 0});
        }
      }
    }
  });
}

at::Tensor column_sums(const MatrixView<const float>& matrix) {
  at::Tensor sums = at::empty({1, matrix.columns}, at::kFloat);
  const float one = 1;
  multiply_transposed({&one, matrix.rows, 1, 0}, matrix, writable(sums));
  return sums.squeeze(0);
}

void multiply_transposed(const MatrixView<const float>& a, const MatrixView<const float>& b,
                         const MatrixView<float>& c) {
  if (a.rows == 0) {
    for (std::int64_t i = 0; i < c.rows; ++i) std::fill_n(c.row(i), c.columns, 0.0F);
    return;
  }
  const Products& kernels = *products();
  const Shares shares(divide_up(a.columns, kernels.row_tile), divide_up(b.columns, kernels.panel));
  shares.for_each([&](const Share& share) {
    RowBlock block(share.end_panel - share.first_panel);
    alignas(64) std::array<float, kRows * kMostTileStride> tile_values;
    const std::int64_t column = share.first_panel * kernels.panel;
    const std::int64_t columns = std::min(b.columns, share.end_panel * kernels.panel) - column;
    for (std::int64_t first = 0; first < a.rows; first += kRows) {
      const std::int64_t rows = std::min(kRows, a.rows - first);
      block.fill({b.row(first) + column, rows, columns, b.stride});
      for (std::int64_t tile = share.first_row; tile < share.end_row; ++tile) {
        const std::int64_t i = tile * kernels.row_tile, width = std::min(kernels.row_tile, a.columns - i);
        kernels.copy_tile({a.row(first) + i, a.stride, rows, width, tile_values.data()});
        for (std::int64_t panel = share.first_panel; panel < share.end_panel; ++panel) {
          const std::int64_t j = panel * kernels.panel;
          const bool asks = panel + 1 == share.end_panel && tile + 1 < share.end_row;
          kernels.add_outer({.a = tile_values.data(),
                             .a_stride = kernels.tile_stride,
                             .b = block.panel(panel - share.first_panel),
                             .b_stride = kernels.panel,
                             .rows = rows,
                             .a_columns = width,
                             .b_columns = std::min(kernels.panel, b.columns - j),
                             .c = c.row(i) + j,
                             .c_stride = c.stride,
                             .accumulate = first > 0,
                             .next = asks ? a.row(first) + i + kernels.row_tile : nullptr,
                             .next_stride = a.stride});
        }
      }
    }
  });
}

}  // namespace lockstep::kernels
