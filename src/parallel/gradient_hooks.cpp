#include "gradient_hooks.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

namespace lockstep::parallel {

GradientHooks::GradientHooks(const NamedTensors::List& parameters,
                             const std::function<void(std::size_t)>& on_gradient) {
  using torch::autograd::variable_list;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    auto accumulator = torch::autograd::impl::grad_accumulator(parameters[i].second);
    const std::uintptr_t key = accumulator->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
        [on_gradient, i](const variable_list& outputs, const variable_list&) {
          on_gradient(i);
          return outputs;
        }));
    accumulators_.emplace_back(std::move(accumulator), key);
  }
}

GradientHooks::~GradientHooks() {
  for (const auto& [accumulator, key] : accumulators_) accumulator->del_post_hook(key);
}

}  // namespace lockstep::parallel
