// Tensors as our kernels for pictures take them: dense, the channels last, and on the CPU of floats or bfloat16.
#pragma once
#include <ATen/core/Tensor.h>

namespace lockstep::kernels {

bool is_cpu_float(const at::Tensor& tensor);
bool is_cpu_floating(const at::Tensor& tensor);  // float or bfloat16

// With channels last in memory: NHWC, NDHWC, or two dimensions.
bool is_channels_last(const at::Tensor& tensor);
// So, and is_cpu_floating.
bool is_cpu_channels_last(const at::Tensor& tensor);

// Takes `gradient` out of its place, in the layout of `like`, which has channels last; copies it if it has another.
at::Tensor take_channels_last(at::Tensor& gradient, const at::Tensor& like);

// Whether nobody else can see what is in `gradient`, so that it may be written over. libtorch's engine asks the same
// before it adds to a gradient in place.
bool is_ours(const at::Tensor& gradient);

}  // namespace lockstep::kernels
