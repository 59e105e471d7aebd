#include "gradient_hooks.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

namespace lockstep::parallel {

GradientHooks::GradientHooks(std::span<const at::Tensor> parameters, const OnGradient& on_gradient) {
  using torch::autograd::variable_list;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    auto accumulator = torch::autograd::impl::grad_accumulator(parameters[i]);
    const std::uintptr_t key = accumulator->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
        [on_gradient, i](const variable_list& outputs, const variable_list& inputs) {
          on_gradient(i, inputs.front());
          return outputs;
        }));
    accumulators_.emplace_back(std::move(accumulator), key);
  }
}

GradientHooks::~GradientHooks() {
  for (const auto& [accumulator, key] : accumulators_) accumulator->del_post_hook(key);
}

}  // namespace lockstep::parallel
