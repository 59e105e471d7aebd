// What the convolutions by Winograd and their gradients share.
#pragma once
#include <algorithm>

#include <ATen/core/Tensor.h>

#include "../recorded.h"
#include "divide_up.h"
#include "products.h"
#include "winograd_tiles.h"

namespace lockstep::kernels {

// Tiles that are taken through all steps together.
struct WinogradBlock {
  std::int64_t first = 0, count = 0;
  at::Tensor in_values, out_values;
  float* in = nullptr;   // [point][tile][inputs]
  float* out = nullptr;  // [point][tile][outputs]
};

WinogradBlock make_block(const ConvShape& shape, std::int64_t first, std::int64_t count);

// How many tiles a block of so many bytes has, not more than `most`: a multiple of the rows that are multiplied at
// once.
std::int64_t tiles_of_block(const ConvShape& shape, std::int64_t bytes, std::int64_t most);

// Of a convolution or one of its gradients: the products at the points, which are fewer than those of plain sums.
Work winograd_work(const ConvShape& shape);

constexpr std::int64_t kSharedBytes = 1 << 24;  // of blocks that all cores share

inline const WinogradTransforms& transforms_of(const ConvShape& shape) {
  return shape.side == 3 ? winograd()->three : winograd()->five;
}

}  // namespace lockstep::kernels
