// Pooling, with a rectifier before it. Both engines: where the fused one has no kernel (other types, devices or layouts
// than floats and bfloat16 on a CPU with channels last; on a GPU also half), libtorch's
// operations are called.
#pragma once
#include <optional>

#include <ATen/core/Tensor.h>

namespace lockstep::kernels {

// In each dimension of a picture (NCHW) or a volume (NCDHW).
struct MaxPool {
  std::int64_t kernel = 2, stride = 2, padding = 0;
  // Of each channel, added before all else, where it is defined. On a GPU it is added to the maxima, in floats: values
  // of a window that only its rounding would make equal stay different.
  at::Tensor bias = {};
  // Of a rectifier that comes before: 0 for ReLU, above 0 for leaky ReLU.
  std::optional<double> slope = std::nullopt;
  // That nobody else needs the input's values, so that libtorch's ReLU may work in place.
  bool owns_input = false;
};

// As the sum with the bias, at::relu or at::leaky_relu, and then at::max_pool2d or at::max_pool3d. Where values of a
// window are equal, the first has the gradient. Differentiable once with the fused engine; a second time throws
// UsageError.
at::Tensor max_pool(at::Tensor input, const MaxPool& options);

// The mean of each channel of a picture, as at::adaptive_avg_pool2d to one pixel.
at::Tensor global_average_pool(const at::Tensor& input);

}  // namespace lockstep::kernels
