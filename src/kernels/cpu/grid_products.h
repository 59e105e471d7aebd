// Products of pixels and weights, over the rows of a map, on all threads.
#pragma once
#include "grid_map.h"
#include "packed_matrix.h"

namespace lockstep::kernels::cpu {

// What happens to a result on its way to memory.
struct Finish {
  const float* bias = nullptr;
  bool relu = false;
};

// dest = sum over taps of source * weights; `weights` has the taps of the map, and as many columns as dest has.
void multiply_pixels(const Products& products, const GridMap& map, const float* source, const PackedMatrix& weights,
                     float* dest, const Finish& finish = {});

// gradient[column of dest][tap][column of source] = sum over rows of dest * source.
void multiply_outer(const Products& products, const GridMap& map, const float* source, std::int64_t source_columns,
                    const float* dest, float* gradient);

}  // namespace lockstep::kernels::cpu
