// Shortcuts with a stride, on GPUs.
#pragma once
#include <ATen/core/Tensor.h>

namespace lockstep::kernels {

// Whether every_nth() takes it: the second result of pointwise_norm_act() or batch_norm_act_for_two(), which a ReLU has
// been over.
bool can_every_nth(const at::Tensor& pictures);

// Of pictures the places whose row and column are multiples of `stride`, side by side: a convolution whose window is
// one place needs no others. Differentiable once. The gradient is never in memory among zeros where the first reader,
// or the normalization's own kernel, adds it to the other one.
at::Tensor every_nth(const at::Tensor& pictures, std::int64_t stride);

}  // namespace lockstep::kernels
