#pragma once
#include <cstdint>

namespace lockstep::kernels {

// Of a convolution over channels-last pictures [batch][height][width][inputs], with weights
// [outputs][side][side][inputs], that moves on by one pixel.
struct ConvShape {
  std::int64_t batch = 0, inputs = 0, outputs = 0;
  std::int64_t height = 0, width = 0;  // of the input
  std::int64_t side = 0;               // of the weights
  std::int64_t pad_height = 0, pad_width = 0;

  std::int64_t out_height() const { return height + 2 * pad_height - side + 1; }
  std::int64_t out_width() const { return width + 2 * pad_width - side + 1; }
  std::int64_t taps() const { return side * side; }
};

}  // namespace lockstep::kernels
