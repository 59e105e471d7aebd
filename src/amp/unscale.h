#pragma once
#include <ATen/core/Tensor.h>
#include <torch/optim/optimizer.h>

namespace lockstep::amp {

bool has_gradients(const torch::optim::Optimizer& optimizer);
bool has_half_gradients(const torch::optim::Optimizer& optimizer);

// Multiplies the gradients of an optimizer by `inverse_scale`, and sets `found_inf` to 1 if any of them is not finite;
// both have one element and are on one device.
void unscale_gradients(torch::optim::Optimizer& optimizer, const at::Tensor& inverse_scale, at::Tensor& found_inf);

}  // namespace lockstep::amp
