#pragma once
#include <ATen/core/Tensor.h>
#include <torch/optim/optimizer.h>

namespace lockstep::amp {

// Multiplies the gradients of an optimizer by `inverse_scale`, and sets `found_inf` to 1 if any of them is not finite;
// both have one element and are on one device. Returns whether there is any gradient. Throws UsageError for one in
// fp16, unless `half_gradients`.
bool unscale_gradients(torch::optim::Optimizer& optimizer, const at::Tensor& inverse_scale, at::Tensor& found_inf,
                       bool half_gradients);

}  // namespace lockstep::amp
