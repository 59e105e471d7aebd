#include "matrices.h"

#include <vector>

#include <ATen/Parallel.h>

#include "../parallel.h"
#include "divide_up.h"

namespace lockstep::kernels {
namespace {

constexpr std::int64_t kDepth = 512;  // of a sum at once, so that a panel and many rows stay in a core's caches
constexpr std::int64_t kBlockFloats = 64 << 10;  // of rows at once

// `count` shares of about the same size, in whole `units`.
std::int64_t share_of(std::int64_t size, std::int64_t count, std::int64_t unit) {
  return divide_up(divide_up(size, unit), count) * unit;
}

template <typename Float>
std::vector<Float*> rows_of(const MatrixView<Float>& matrix, std::int64_t first, std::int64_t count,
                            std::int64_t column) {
  std::vector<Float*> rows(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) rows[static_cast<std::size_t>(i)] = matrix.row(first + i) + column;
  return rows;
}

// Rows a multiple of a page apart fall into the same lines of a core's first cache, which has room for eight.
bool would_collide(const MatrixView<const float>& matrix) {
  constexpr std::int64_t kPageFloats = 1024;
  return matrix.stride % kPageFloats == 0;
}

// The same values in rows that do not.
MatrixView<const float> copied(const MatrixView<const float>& matrix, std::vector<float>& to) {
  constexpr std::int64_t kGap = 16;
  const std::int64_t stride = matrix.columns + kGap;
  to.resize(static_cast<std::size_t>(matrix.rows * stride));
  for (std::int64_t i = 0; i < matrix.rows; ++i) std::copy_n(matrix.row(i), matrix.columns, to.data() + i * stride);
  return {to.data(), matrix.rows, matrix.columns, stride};
}

// More tasks than threads, so that none waits long for the last.
std::int64_t wanted_tasks() {
  return at::get_num_threads() == 1 ? 1 : 4 * at::get_num_threads();
}

}  // namespace

MatrixView<const float> view(const at::Tensor& matrix) {
  return {matrix.const_data_ptr<float>(), matrix.size(0), matrix.size(1), matrix.stride(0)};
}

MatrixView<float> writable(const at::Tensor& matrix) {
  return {matrix.mutable_data_ptr<float>(), matrix.size(0), matrix.size(1), matrix.stride(0)};
}

PackedMatrix packed(const at::Tensor& matrix) {
  PackedMatrix result = make_packed(*products(), /*taps=*/1, /*depth=*/matrix.size(0), /*columns=*/matrix.size(1));
  const at::Tensor panels = result.values.view({result.panels(), result.depth, result.panel});
  const std::int64_t whole = result.columns / result.panel, rest = result.columns % result.panel;
  if (whole > 0) {
    panels.slice(0, 0, whole)
        .copy_(matrix.slice(1, 0, whole * result.panel).reshape({result.depth, whole, result.panel}).transpose(0, 1));
  }
  if (rest > 0) panels.select(0, whole).slice(1, 0, rest).copy_(matrix.slice(1, whole * result.panel));
  return result;
}

void multiply(const MatrixView<const float>& a, const PackedMatrix& b, const MatrixView<float>& c, bool accumulate) {
  const Products& kernels = *products();
  const std::int64_t depth = share_of(b.depth, divide_up(b.depth, kDepth), 1);
  const std::int64_t most = std::max(kBlockFloats / depth / kernels.row_tile, std::int64_t{1}) * kernels.row_tile;
  const std::int64_t block = share_of(a.rows, divide_up(a.rows, most), kernels.row_tile);
  const std::int64_t blocks = divide_up(a.rows, block);
  const std::int64_t groups = std::clamp<std::int64_t>(divide_up(wanted_tasks(), blocks), 1, b.panels());
  const std::int64_t panels = divide_up(b.panels(), groups);
  const bool collides = would_collide(a);
  parallel_for(0, blocks * groups, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> copy;
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t first = task / groups * block, rows = std::min(block, a.rows - first);
      const std::int64_t last_panel = std::min(b.panels(), (task % groups + 1) * panels);
      const auto to = rows_of(c, first, rows, 0);
      for (std::int64_t start = 0; start < b.depth; start += depth) {
        const std::int64_t columns = std::min(depth, b.depth - start);
        MatrixView<const float> part{a.row(first) + start, rows, columns, a.stride};
        if (collides) part = copied(part, copy);
        const auto from = rows_of(part, 0, rows, 0);
        for (std::int64_t panel = task % groups * panels; panel < last_panel; ++panel) {
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

void multiply_transposed(const MatrixView<const float>& a, const MatrixView<const float>& b,
                         const MatrixView<float>& c) {
  if (a.rows == 0) {
    for (std::int64_t i = 0; i < c.rows; ++i) std::fill_n(c.row(i), c.columns, 0.0F);
    return;
  }
  const Products& kernels = *products();
  const std::int64_t across = std::min<std::int64_t>(divide_up(b.columns, 4 * kernels.panel), wanted_tasks());
  const std::int64_t down = std::min(divide_up(a.columns, 4 * kernels.row_tile), divide_up(wanted_tasks(), across));
  const std::int64_t width = share_of(b.columns, across, kernels.panel);
  const std::int64_t height = share_of(a.columns, down, kernels.row_tile);
  const std::int64_t across_tasks = divide_up(b.columns, width);
  parallel_for(0, divide_up(a.columns, height) * across_tasks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t row = task / across_tasks * height, column = task % across_tasks * width;
      const std::int64_t rows = std::min(height, a.columns - row), columns = std::min(width, b.columns - column);
      const std::int64_t block = std::clamp<std::int64_t>(kBlockFloats / (rows + columns), 64, 512);
      for (std::int64_t first = 0; first < a.rows; first += block) {
        const std::int64_t count = std::min(block, a.rows - first);
        kernels.add_outer({.a = rows_of(a, first, count, row).data(),
                           .b = rows_of(b, first, count, column).data(),
                           .rows = count,
                           .a_columns = rows,
                           .b_columns = columns,
                           .c = c.row(row) + column,
                           .c_stride = c.stride,
                           .accumulate = first > 0});
      }
    }
  });
}

}  // namespace lockstep::kernels
