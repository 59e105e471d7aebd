#include <algorithm>

#include <ATen/Parallel.h>

#include "../parallel.h"

#include "grid_products.h"

namespace lockstep::kernels::cpu {
namespace {

constexpr std::int64_t kRowsBytes = 256 << 10;  // of the source at once: a part of what a core's second cache holds
constexpr std::int64_t kDepth = 512;            // of a sum at once, so that many rows have room there

std::int64_t divide_up(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}

// Rows that are computed together.
std::int64_t block_of_rows(const Products& products, std::int64_t rows, std::int64_t depth) {
  constexpr std::int64_t kMostTiles = 16;
  const std::int64_t fitting = kRowsBytes / static_cast<std::int64_t>(sizeof(float)) / std::max<std::int64_t>(depth, 1);
  const std::int64_t tiles = std::clamp<std::int64_t>(fitting / products.row_tile, 2, kMostTiles);
  const std::int64_t most = tiles * products.row_tile;
  const std::int64_t each = divide_up(rows, divide_up(rows, most));
  return std::min(most, divide_up(each, products.row_tile) * products.row_tile);
}

// What one thread works with, kept from call to call.
struct Pointers {
  std::vector<const float*> source;
  std::vector<float*> dest;
  std::vector<float> none;
};

// A part of the sum: some taps, or some of the depth.
struct Part {
  std::int64_t tap, taps, offset, depth;
};

std::vector<Part> parts_of(const PackedMatrix& weights) {
  std::vector<Part> parts;
  const std::int64_t taps =
      std::clamp<std::int64_t>(2 * kDepth / std::max<std::int64_t>(weights.depth, 1), 1, weights.taps);
  const std::int64_t depth =
      divide_up(weights.depth, divide_up(weights.depth, weights.taps == 1 ? kDepth : 4 * kDepth));
  for (std::int64_t tap = 0; tap < weights.taps; tap += taps) {
    for (std::int64_t offset = 0; offset < weights.depth; offset += depth) {
      parts.push_back({tap, std::min(taps, weights.taps - tap), offset, std::min(depth, weights.depth - offset)});
    }
  }
  return parts;
}

void fill_zeros(const GridMap& map, float* dest) {
  std::vector<float*> rows(static_cast<std::size_t>(map.rows()));
  dest_rows(map, dest, 0, map.rows(), rows.data());
  for (float* row : rows) std::fill_n(row, map.dest_width, 0.0F);
}

}  // namespace

void multiply_pixels(const Products& products, const GridMap& map, const float* source, const PackedMatrix& weights,
                     float* dest, const Finish& finish) {
  if (map.taps.empty()) return fill_zeros(map, dest);
  const std::vector<Part> parts = parts_of(weights);
  const std::int64_t block = block_of_rows(products, map.rows(), parts.front().depth);
  const std::int64_t blocks = divide_up(map.rows(), block);
  // Where there are few blocks, their columns are shared among threads too.
  const std::int64_t wanted = at::get_num_threads() == 1 ? 1 : 4 * at::get_num_threads();
  const std::int64_t groups = std::clamp<std::int64_t>(divide_up(wanted, blocks), 1, weights.panels());
  const std::int64_t panels = divide_up(weights.panels(), groups);
  const auto taps = static_cast<std::int64_t>(map.taps.size());

  parallel_for(0, blocks * groups, 1, [&](std::int64_t begin, std::int64_t end) {
    thread_local Pointers pointers;
    pointers.source.resize(static_cast<std::size_t>(taps * block));
    pointers.dest.resize(static_cast<std::size_t>(block));
    pointers.none.assign(static_cast<std::size_t>(weights.depth), 0.0F);
    std::int64_t prepared = -1;
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t first = task / groups * block;
      const std::int64_t rows = std::min(block, map.rows() - first);
      if (std::exchange(prepared, first) != first) {
        for (std::int64_t t = 0; t < taps; ++t) {
          source_rows(map, map.taps[static_cast<std::size_t>(t)], source, pointers.none.data(), first, rows,
                      pointers.source.data() + t * block);
        }
        dest_rows(map, dest, first, rows, pointers.dest.data());
      }
      const std::int64_t last_panel = std::min(weights.panels(), (task % groups + 1) * panels);
      for (const Part& part : parts) {
        const bool is_first = &part == &parts.front(), is_last = &part == &parts.back();
        for (std::int64_t panel = task % groups * panels; panel < last_panel; ++panel) {
          const std::int64_t column = panel * weights.panel;
          products.multiply_rows({.a = pointers.source.data() + part.tap * block,
                                  .tap_stride = block,
                                  .offset = part.offset,
                                  .rows = rows,
                                  .taps = part.taps,
                                  .depth = part.depth,
                                  .b = weights.at(panel, part.tap) + part.offset * weights.panel,
                                  .b_tap_stride = weights.depth * weights.panel,
                                  .c = pointers.dest.data(),
                                  .column = column,
                                  .columns = weights.columns_of(panel),
                                  .accumulate = !is_first,
                                  .bias = finish.bias == nullptr ? nullptr : finish.bias + column,
                                  .relu = finish.relu && is_last});
        }
      }
    }
  });
}

}  // namespace lockstep::kernels::cpu
