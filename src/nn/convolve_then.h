// A convolution and what follows it, which takes over the bias where that saves a pass over memory.
#pragma once
#include <lockstep/kernels/bias_act.h>
#include <lockstep/kernels/pool.h>

#include "convolve.h"

namespace lockstep::nn {

template <std::size_t D, typename Derived>
bool gives_bias_away(const torch::nn::ConvNdImpl<D, Derived>& module, const at::Tensor& input) {
  return can_leave_bias(module, input) && kernels::can_bias_act(module.bias);
}

template <std::size_t D, typename Derived>
at::Tensor convolve_then_act(torch::nn::ConvNdImpl<D, Derived>& module, const at::Tensor& input, bool relu) {
  if (!gives_bias_away(module, input)) return convolve(module, input, {.relu = relu});
  return kernels::bias_act(convolve(module, input, {.bias = false}), module.bias, relu);
}

template <std::size_t D, typename Derived>
at::Tensor convolve_then_pool(torch::nn::ConvNdImpl<D, Derived>& module, const at::Tensor& input,
                              kernels::MaxPool pool) {
  const bool gives = gives_bias_away(module, input);
  if (gives) pool.bias = module.bias;
  return kernels::max_pool(convolve(module, input, {.bias = !gives}), pool);
}

}  // namespace lockstep::nn
