#pragma once
#include <array>
#include <cstdint>

namespace lockstep::kernels::cpu {

using Extents = std::array<std::int64_t, 3>;  // depth, height, width; what is not there is 1

// Of a convolution in one group, over channels-last pixels: [batch][depth][height][width][channels], and weights
// [outputs][depth][height][width][inputs].
struct ConvShape {
  std::int64_t batch = 0, inputs = 0, outputs = 0;
  Extents in = {1, 1, 1}, kernel = {1, 1, 1}, stride = {1, 1, 1}, padding = {0, 0, 0}, dilation = {1, 1, 1};

  Extents out() const {
    Extents size{};
    for (std::size_t i = 0; i < 3; ++i) {
      size[i] = (in[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) / stride[i] + 1;
    }
    return size;
  }
  std::int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
};

inline std::int64_t volume(const Extents& extents) {
  return extents[0] * extents[1] * extents[2];
}

}  // namespace lockstep::kernels::cpu
