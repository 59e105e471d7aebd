#include <algorithm>

#include <ATen/Parallel.h>

#include "../parallel.h"

#include "grid_products.h"

namespace lockstep::kernels::cpu {
namespace {

constexpr std::int64_t kRowsBytes = 256 << 10;  // of both sides at once

std::int64_t divide_up(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}

// The gradient is shared among threads in parts, so that nothing has to be added up afterwards.
struct Parts {
  std::int64_t source_columns, sources;  // of each, and how many
  std::int64_t dest_columns, dests;
};

Parts parts_of(const Products& products, std::int64_t taps, std::int64_t sources, std::int64_t dests) {
  const std::int64_t wanted = at::get_num_threads() == 1 ? 1 : 2 * at::get_num_threads();
  const std::int64_t panels = divide_up(sources, products.panel);
  const std::int64_t split = std::clamp<std::int64_t>(divide_up(wanted, taps), 1, panels);
  Parts parts{};
  parts.source_columns = divide_up(panels, split) * products.panel;
  parts.sources = divide_up(sources, parts.source_columns);
  const std::int64_t tiles = divide_up(dests, products.row_tile);
  const std::int64_t rest = std::clamp<std::int64_t>(divide_up(wanted, taps * parts.sources), 1, tiles);
  parts.dest_columns = divide_up(tiles, rest) * products.row_tile;
  parts.dests = divide_up(dests, parts.dest_columns);
  return parts;
}

}  // namespace

void multiply_outer(const Products& products, const GridMap& map, const float* source, std::int64_t source_columns,
                    const float* dest, float* gradient) {
  const auto taps = static_cast<std::int64_t>(map.taps.size());
  const Parts parts = parts_of(products, taps, source_columns, map.dest_width);
  constexpr std::int64_t kFewest = 64, kMost = 1024;
  const std::int64_t width =
      std::min(parts.source_columns, source_columns) + std::min(parts.dest_columns, map.dest_width);
  const std::int64_t block =
      std::clamp<std::int64_t>(kRowsBytes / static_cast<std::int64_t>(sizeof(float)) / width, kFewest, kMost);
  const std::int64_t each = parts.sources * parts.dests;

  parallel_for(0, taps * each, 1, [&](std::int64_t begin, std::int64_t end) {
    thread_local std::vector<const float*> source_pointers;
    thread_local std::vector<float*> dest_pointers;
    source_pointers.resize(static_cast<std::size_t>(block));
    dest_pointers.resize(static_cast<std::size_t>(block));
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t tap = task / each;
      const std::int64_t column = task % each / parts.dests * parts.source_columns;
      const std::int64_t row = task % parts.dests * parts.dest_columns;
      const std::int64_t columns = std::min(parts.source_columns, source_columns - column);
      const std::int64_t rows = std::min(parts.dest_columns, map.dest_width - row);
      float* to = gradient + (row * taps + tap) * source_columns + column;
      for (std::int64_t i = 0; i < rows; ++i) std::fill_n(to + i * taps * source_columns, columns, 0.0F);
      for (std::int64_t first = 0; first < map.rows(); first += block) {
        const std::int64_t count = std::min(block, map.rows() - first);
        source_rows(map, map.taps[static_cast<std::size_t>(tap)], source, nullptr, first, count,
                    source_pointers.data());
        dest_rows(map, const_cast<float*>(dest), first, count, dest_pointers.data());
        // What lies outside of the picture adds nothing.
        std::int64_t kept = 0;
        for (std::int64_t i = 0; i < count; ++i) {
          const auto from = static_cast<std::size_t>(i), there = static_cast<std::size_t>(kept);
          if (source_pointers[from] == nullptr) continue;
          source_pointers[there] = source_pointers[from];
          dest_pointers[there] = dest_pointers[from];
          ++kept;
        }
        products.add_outer({.a = dest_pointers.data(),
                            .b = source_pointers.data(),
                            .rows = kept,
                            .a_column = row,
                            .a_columns = rows,
                            .b_column = column,
                            .b_columns = columns,
                            .c = to,
                            .c_stride = taps * source_columns});
      }
    }
  });
}

}  // namespace lockstep::kernels::cpu
