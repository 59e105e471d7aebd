// The halves of kernels/batch_norm.h, each for tensors of one device.
#pragma once
#include <lockstep/kernels/batch_norm.h>

namespace lockstep::kernels {

// Whether this forward pass must remember something for a backward pass.
bool wants_gradients(const at::Tensor& input, const BatchNormState& state, const NormAct& options);

bool can_cpu_batch_norm_act(const at::Tensor& input, const BatchNormState& state, const NormAct& options);
// The second one is undefined unless it is for two.
ForTwo cpu_batch_norm_act(const at::Tensor& input, const BatchNormState& state, const NormAct& options, bool for_two);

bool can_cuda_batch_norm_act(const at::Tensor& input, const BatchNormState& state, const NormAct& options);
// Likewise.
ForTwo cuda_batch_norm_act(const at::Tensor& input, const BatchNormState& state, const NormAct& options, bool for_two);
// Rows of floats whose sum is that of the rows of such a result; undefined where it was not taken.
at::Tensor sums_of_cuda_batch_norm_act(const at::Tensor& result);

}  // namespace lockstep::kernels
