// The bias of a convolution and the ReLU after it, on GPUs.
#pragma once
#include <ATen/core/Tensor.h>

namespace lockstep::kernels {

// Whether the fused engine has kernels for this bias: floats on a GPU, a multiple of 8 of them. Then a convolution is
// better done without it. Not while a graph is traced.
bool can_bias_act(const at::Tensor& bias);

// at::relu(input + bias), or only the sum, written over `input`: nobody else needs its values, nor has a backward pass
// kept them. The bias has a value for each channel, whatever its type; both engines, as with pooling. The fused one
// takes float32, bfloat16 and half with channels last in memory, adds in floats and rounds once, and is differentiable
// once; a second time throws UsageError.
at::Tensor bias_act(at::Tensor input, const at::Tensor& bias, bool relu);

}  // namespace lockstep::kernels
