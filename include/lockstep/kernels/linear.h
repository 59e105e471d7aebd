// Linear layers on the CPU.
#pragma once
#include <ATen/core/Tensor.h>

namespace lockstep::kernels {

// Whether linear() takes these, and is faster than libtorch: float32 on a CPU with AVX2, many weights and few samples,
// no autocast.
bool can_linear(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias);

// As at::linear, for inputs [sample][feature]; differentiable once. Weights are read as they lie in memory, once, which
// is most of the time where each is used for a few samples only.
at::Tensor linear(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias);

}  // namespace lockstep::kernels
