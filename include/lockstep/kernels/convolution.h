// Convolutions on the CPU.
#pragma once
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace lockstep::kernels {

struct ConvolutionOptions {
  std::vector<std::int64_t> stride, padding, dilation;  // for each dimension of a picture or a volume
  std::int64_t groups = 1;
  bool relu = false;  // of the result
};

// Whether convolve() takes these: float32 on a CPU with AVX2, pictures or volumes, one group, no autocast.
bool can_convolve(const at::Tensor& input, const at::Tensor& weight, const ConvolutionOptions& options);

// As at::convolution, and at::relu after it where that is asked for; differentiable once. The result is channels-last.
// Fastest when the input and the weight are so too. `bias` may be undefined.
at::Tensor convolve(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                    const ConvolutionOptions& options);

}  // namespace lockstep::kernels
