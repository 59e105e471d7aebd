#pragma once
#include <vector>

#include <ATen/core/Tensor.h>

namespace lockstep::kernels {

// A value for each channel of `input`, as what can be added to it without changing its type.
inline at::Tensor bias_for(const at::Tensor& input, const at::Tensor& bias) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(input.dim()), 1);
  shape[1] = bias.numel();
  return bias.to(input.scalar_type()).view(shape);
}

}  // namespace lockstep::kernels
