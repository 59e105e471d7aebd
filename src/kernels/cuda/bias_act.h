// The half of kernels/bias_act.h for tensors on GPUs.
#pragma once
#include <ATen/core/Tensor.h>

namespace lockstep::kernels {

// Whether there are kernels for this bias, of some input.
bool can_cuda_bias(const at::Tensor& bias);
bool can_cuda_bias_act(const at::Tensor& input, const at::Tensor& bias);
at::Tensor cuda_bias_act(at::Tensor input, const at::Tensor& bias, bool relu);

}  // namespace lockstep::kernels
