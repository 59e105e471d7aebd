#include <lockstep/optim/adam.h>

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/zeros_like.h>

#include "kernel_batch.h"
#include "parameter_state.h"

namespace lockstep::optim {
namespace {

// The averages of a parameter, as the kernel takes them.
template <typename State>
void prepare_averages(State& state, const at::Tensor& parameter, bool amsgrad) {
  const auto fitted = [&](const at::Tensor& average) {
    return average.defined() ? fitting_state(parameter, average) : at::zeros_like(parameter.detach());
  };
  state.exp_avg(fitted(state.exp_avg()));
  state.exp_avg_sq(fitted(state.exp_avg_sq()));
  if (amsgrad) state.max_exp_avg_sq(fitted(state.max_exp_avg_sq()));
}

struct AdamKernel {
  template <typename... Arguments>
  void operator()(const Arguments&... arguments) const {
    at::_fused_adam_(arguments...);
  }
};
struct AdamWKernel {
  template <typename... Arguments>
  void operator()(const Arguments&... arguments) const {
    at::_fused_adamw_(arguments...);
  }
};

template <typename State, typename Options, typename Kernel>
void step_adam(StateMap& states, const torch::optim::OptimizerParamGroup& group, std::size_t index,
               const StepControls& controls, const Kernel& kernel) {
  const auto& options = static_cast<const Options&>(group.options());
  const bool amsgrad = options.amsgrad();
  KernelBatches batches;
  for (const at::Tensor& parameter : group.params()) {
    if (!parameter.grad().defined()) continue;
    auto& state = own_counted_state<State>(states, parameter);
    prepare_averages(state, parameter, amsgrad);
    state.step(state.step() + 1);
    const auto type = c10::toRealValueType(parameter.scalar_type());
    KernelBatch& batch = batches.of(parameter, type);
    batch.counters.push_back(state.counter());
    if (amsgrad) {
      batch.add(parameter, {state.exp_avg(), state.exp_avg_sq(), state.max_exp_avg_sq()}, type);
    } else {
      batch.add(parameter, {state.exp_avg(), state.exp_avg_sq()}, type);
    }
  }
  batches.run([&](const KernelBatch& batch, bool) {
    const auto [beta1, beta2] = options.betas();
    const auto scale = controls.gradient_scale(batch.device()), found_inf = controls.found_inf(batch.device());
    const at::TensorList largest = amsgrad ? at::TensorList(batch.state[2]) : at::TensorList();
    const auto step = [&, beta1 = beta1, beta2 = beta2](const auto& rate) {
      kernel(batch.parameters, batch.gradients, batch.state[0], batch.state[1], largest, batch.counters, rate, beta1,
             beta2, options.weight_decay(), options.eps(), amsgrad, /*maximize=*/false, scale, found_inf);
    };
    at::_foreach_add_(batch.counters, 1);
    const at::Tensor rate = controls.rate(index, batch.device());
    rate.defined() ? step(rate) : step(options.lr());
    // The kernel skips the step; that it was none is ours to count.
    if (found_inf) at::_foreach_sub_(batch.counters, std::vector<at::Tensor>(batch.counters.size(), *found_inf));
  });
}

}  // namespace

void Adam::step_group(std::size_t index) {
  step_adam<torch::optim::AdamParamState, torch::optim::AdamOptions>(state_, param_groups_[index], index, controls(),
                                                                     AdamKernel());
}

void AdamW::step_group(std::size_t index) {
  step_adam<torch::optim::AdamWParamState, torch::optim::AdamWOptions>(state_, param_groups_[index], index, controls(),
                                                                       AdamWKernel());
}

}  // namespace lockstep::optim
