// Which pixels of one picture belong to which of another.
#pragma once
#include <vector>

#include "conv_shape.h"

namespace lockstep::kernels::cpu {

// Rows of a product are the points of a grid, one after the other, for each picture of a batch. A point j has a pixel
// of the destination, at j * dest_step + dest_start, and under each tap one of the source, at j * step + tap, or none.
struct GridMap {
  std::int64_t batch = 0;
  Extents grid{}, source{}, dest{};
  Extents step = {1, 1, 1}, dest_step = {1, 1, 1}, dest_start = {0, 0, 0};
  std::vector<Extents> taps;
  std::int64_t source_width = 0, dest_width = 0;  // channels of a pixel

  std::int64_t rows() const { return batch * volume(grid); }
};

// The output's pixels, and for each weight the input's: for the result and for the gradient of the weights.
GridMap output_map(const ConvShape& shape);

// For the gradient of the input: some of its pixels, and for each weight that touches these the output's. A stride
// makes several such maps, since pixels differ in which weights touch them.
struct InputMap {
  GridMap map;
  std::vector<std::int64_t> taps;  // the number of each of its taps among all
};
std::vector<InputMap> input_maps(const ConvShape& shape);

// Pointers for rows from `first` on, `count` of them: pixels of the source under one tap, `none` where there is none.
void source_rows(const GridMap& map, const Extents& tap, const float* source, const float* none, std::int64_t first,
                 std::int64_t count, const float** to);
void dest_rows(const GridMap& map, float* dest, std::int64_t first, std::int64_t count, float** to);

}  // namespace lockstep::kernels::cpu
