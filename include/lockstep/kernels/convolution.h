// Convolutions that are done in another way than libtorch's.
#pragma once
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace lockstep::kernels {

struct ConvolutionOptions {
  std::vector<std::int64_t> stride, padding, dilation;  // for each dimension of a picture
  std::int64_t groups = 1;
  bool relu = false;  // of the result

  // Whether a window of one place convolves each place by itself: with stride 1, no padding, one group.
  bool move_nothing() const;
};

// Whether convolve() takes these, and is faster than libtorch: 3 x 3 or 5 x 5 weights with stride 1 over pictures, in
// float32, on a CPU with AVX2, with enough channels and pixels; under autocast in bfloat16, on a CPU with AVX-512,
// those with many weights for few pixels, for the gradients; and on a GPU any over pictures of up to four channels that
// need no gradient, in 16 bits, with a window of one place the first reader of what pointwise_norm_act() gave, and on
// one of compute capability 9.0, in bfloat16, 3 x 3 weights from 64 channels to 64 with stride 1 and padding 1. For all
// others libtorch's libraries are near the peak of what computes.
bool can_convolve(const at::Tensor& input, const at::Tensor& weight, const ConvolutionOptions& options);

// As at::convolution, and at::relu after it where that is asked for; differentiable once. On a CPU, Winograd's
// transforms take the place of most products (src/kernels/cpu/winograd.h), so results differ in their last digits;
// under autocast there, the weight's gradient is one product of matrices (src/kernels/cpu/product_convolution.h). On a
// GPU the places of a window over few channels become channels, in the type of autocast where that is on. The result is
// channels-last. Fastest when the input and the weight are so too. `bias` may be undefined.
at::Tensor convolve(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                    const ConvolutionOptions& options);

}  // namespace lockstep::kernels
