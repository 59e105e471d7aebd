// Linear layers on the CPU.
#pragma once
#include <ATen/core/Tensor.h>

namespace lockstep::kernels {

// Whether linear() takes these: float32 on a CPU, many weights, no autocast; and with AVX2 and few samples, where it is
// faster than libtorch, or with the factors of other ranks. Inside of SharedFactors both functions ask for these, which
// can be collective: there all ranks call them alike, whatever their numbers of samples.
bool can_linear(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias);

// As at::linear, for inputs [sample][feature]; differentiable once. Weights are read as they lie in memory, once, which
// is most of the time where each is used for a few samples only. With SharedFactors the gradient of the weight is that
// of all ranks.
at::Tensor linear(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias);

}  // namespace lockstep::kernels
