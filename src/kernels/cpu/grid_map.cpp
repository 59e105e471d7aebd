#include "grid_map.h"

#include <algorithm>

namespace lockstep::kernels::cpu {
namespace {

// Calls visit(index, picture, point) for rows of the map.
template <typename Visit>
void visit_rows(const GridMap& map, std::int64_t first, std::int64_t count, Visit visit) {
  std::int64_t rest = first;
  Extents point{};
  for (const std::size_t i : {2, 1, 0}) {
    point[i] = rest % map.grid[i];
    rest /= map.grid[i];
  }
  std::int64_t picture = rest;
  for (std::int64_t row = 0; row < count; ++row) {
    visit(row, picture, point);
    if (++point[2] < map.grid[2]) continue;
    point[2] = 0;
    if (++point[1] < map.grid[1]) continue;
    point[1] = 0;
    if (++point[0] < map.grid[0]) continue;
    point[0] = 0;
    ++picture;
  }
}

std::int64_t pixel_number(const Extents& picture, const Extents& at) {
  return (at[0] * picture[1] + at[1]) * picture[2] + at[2];
}

template <typename Visit>
void visit_extents(const Extents& extents, Visit visit) {
  for (std::int64_t z = 0; z < extents[0]; ++z) {
    for (std::int64_t y = 0; y < extents[1]; ++y) {
      for (std::int64_t x = 0; x < extents[2]; ++x) visit(Extents{z, y, x});
    }
  }
}

}  // namespace

GridMap output_map(const ConvShape& shape) {
  GridMap map{.batch = shape.batch,
              .grid = shape.out(),
              .source = shape.in,
              .dest = shape.out(),
              .step = shape.stride,
              .source_width = shape.inputs,
              .dest_width = shape.outputs};
  visit_extents(shape.kernel, [&](const Extents& weight) {
    Extents tap{};
    for (std::size_t i = 0; i < 3; ++i) tap[i] = weight[i] * shape.dilation[i] - shape.padding[i];
    map.taps.push_back(tap);
  });
  return map;
}

std::vector<InputMap> input_maps(const ConvShape& shape) {
  std::vector<InputMap> maps;
  visit_extents(shape.stride, [&](const Extents& phase) {
    InputMap part{.map = {.batch = shape.batch,
                          .source = shape.out(),
                          .dest = shape.in,
                          .dest_step = shape.stride,
                          .dest_start = phase,
                          .source_width = shape.outputs,
                          .dest_width = shape.inputs},
                  .taps = {}};
    for (std::size_t i = 0; i < 3; ++i) {
      part.map.grid[i] = std::max<std::int64_t>(0, (shape.in[i] - phase[i] + shape.stride[i] - 1) / shape.stride[i]);
    }
    std::int64_t number = 0;
    visit_extents(shape.kernel, [&](const Extents& weight) {
      Extents tap{};
      bool touches = true;
      for (std::size_t i = 0; i < 3; ++i) {
        const std::int64_t distance = phase[i] + shape.padding[i] - weight[i] * shape.dilation[i];
        touches = touches && distance % shape.stride[i] == 0;
        tap[i] = distance / shape.stride[i];
      }
      if (touches) {
        part.map.taps.push_back(tap);
        part.taps.push_back(number);
      }
      ++number;
    });
    if (part.map.rows() > 0) maps.push_back(std::move(part));
  });
  return maps;
}

void source_rows(const GridMap& map, const Extents& tap, const float* source, const float* none, std::int64_t first,
                 std::int64_t count, const float** to) {
  const std::int64_t picture_size = volume(map.source) * map.source_width;
  visit_rows(map, first, count, [&](std::int64_t row, std::int64_t picture, const Extents& point) {
    Extents at{};
    bool inside = true;
    for (std::size_t i = 0; i < 3; ++i) {
      at[i] = point[i] * map.step[i] + tap[i];
      inside = inside && at[i] >= 0 && at[i] < map.source[i];
    }
    to[row] = inside ? source + picture * picture_size + pixel_number(map.source, at) * map.source_width : none;
  });
}

void dest_rows(const GridMap& map, float* dest, std::int64_t first, std::int64_t count, float** to) {
  const std::int64_t picture_size = volume(map.dest) * map.dest_width;
  visit_rows(map, first, count, [&](std::int64_t row, std::int64_t picture, const Extents& point) {
    Extents at{};
    for (std::size_t i = 0; i < 3; ++i) at[i] = point[i] * map.dest_step[i] + map.dest_start[i];
    to[row] = dest + picture * picture_size + pixel_number(map.dest, at) * map.dest_width;
  });
}

}  // namespace lockstep::kernels::cpu
