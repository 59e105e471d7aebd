#include <lockstep/optim/sgd.h>

#include <algorithm>

#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>

#include "kernel_batch.h"
#include "parameter_state.h"

namespace lockstep::optim {
namespace {

using torch::optim::SGDOptions;
using torch::optim::SGDParamState;

// The type of the arithmetic. The CPU's kernel writes no more than the last few of 16-bit parameters.
at::ScalarType arithmetic_type(const at::Tensor& parameter) {
  const auto type = c10::toRealValueType(parameter.scalar_type());
  return parameter.is_cpu() && (type == at::kHalf || type == at::kBFloat16) ? at::kFloat : type;
}

bool has_first_step(const StateMap& state, const torch::optim::OptimizerParamGroup& group) {
  return std::any_of(group.params().begin(), group.params().end(), [&](const at::Tensor& parameter) {
    const auto* found = find_state<SGDParamState>(state, parameter);
    return parameter.grad().defined() && (found == nullptr || !found->momentum_buffer().defined());
  });
}

}  // namespace

void Sgd::step_group(std::size_t index) {
  const auto& group = param_groups_[index];
  const auto& options = static_cast<const SGDOptions&>(group.options());
  const bool has_momentum = options.momentum() != 0;
  // A buffer of zeros makes the first step of all later ones, and is nothing when they are skipped. Dampening is not
  // for the first gradient, so there it must be known which one that is.
  bool starts_from_zero = controls().may_skip();
  if (starts_from_zero && has_momentum && options.dampening() != 0 && has_first_step(state_, group)) {
    if (controls().is_skipped()) return;
    starts_from_zero = false;
  }
  KernelBatches batches;
  for (const at::Tensor& parameter : group.params()) {
    if (!parameter.grad().defined()) continue;
    const auto type = arithmetic_type(parameter);
    if (!has_momentum) {
      batches.of(parameter, type).add(parameter, {}, type);
      continue;
    }
    auto& state = own_state<SGDParamState>(state_, parameter);
    at::Tensor buffer = state.momentum_buffer();
    const bool is_first = !buffer.defined() && !starts_from_zero;
    if (buffer.defined()) {
      buffer = fitting_state(parameter, buffer);
    } else {
      buffer = is_first ? at::empty_like(parameter.detach()) : at::zeros_like(parameter.detach());
    }
    state.momentum_buffer(buffer);
    batches.of(parameter, type, is_first).add(parameter, {buffer}, type);
  }
  batches.run([&](const KernelBatch& batch, bool is_first) {
    const at::TensorList buffers = has_momentum ? at::TensorList(batch.state.front()) : at::TensorList();
    const auto step = [&](const auto& rate) {
      at::_fused_sgd_(batch.parameters, batch.gradients, buffers, options.weight_decay(), options.momentum(), rate,
                      options.dampening(), options.nesterov(), /*maximize=*/false, is_first,
                      controls().gradient_scale(batch.device()), controls().found_inf(batch.device()));
    };
    const at::Tensor rate = controls().rate(index, batch.device());
    rate.defined() ? step(rate) : step(options.lr());
  });
}

}  // namespace lockstep::optim
