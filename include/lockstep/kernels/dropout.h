#pragma once
#include <ATen/core/Tensor.h>

namespace lockstep::kernels {

// As at::dropout while training: each value is 0 with this probability, and else divided by what is left of 1.
//
// The fused engine (floats or bfloat16 on a CPU, dense) draws one number from libtorch's generator for all of them, and
// drops by a hash of it and the value's place: other values than at::dropout drops, the same for any number of threads,
// and backward needs no mask. Differentiable once there; a second time throws UsageError.
at::Tensor dropout(const at::Tensor& input, double probability);

}  // namespace lockstep::kernels
