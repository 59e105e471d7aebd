#include <lockstep/optim/lars.h>

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <torch/optim/serialize.h>

#include "check_options.h"
#include "kernel_batch.h"
#include "layerwise_update.h"
#include "parameter_state.h"

namespace lockstep::optim {

void LarsOptions::serialize(torch::serialize::OutputArchive& archive) const {
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(lr);
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(momentum);
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(weight_decay);
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(trust_coefficient);
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(eps);
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(always_adapt);
}

void LarsOptions::serialize(torch::serialize::InputArchive& archive) {
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(double, lr);
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(double, momentum);
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(double, weight_decay);
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(double, trust_coefficient);
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(double, eps);
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(bool, always_adapt);
}

void LarsParamState::serialize(torch::serialize::OutputArchive& archive) const {
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(momentum_buffer);
}

void LarsParamState::serialize(torch::serialize::InputArchive& archive) {
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(at::Tensor, momentum_buffer);
}

Lars::Lars(const std::vector<torch::optim::OptimizerParamGroup>& groups, LarsOptions defaults)
    : Layerwise(groups, std::make_unique<LarsOptions>(defaults)) {
  for (const auto& group : param_groups_) check_options(static_cast<const LarsOptions&>(group.options()));
}

void Lars::save(torch::serialize::OutputArchive& archive) const {
  torch::optim::serialize<LarsParamState, LarsOptions>(archive, *this);
}

void Lars::load(torch::serialize::InputArchive& archive) {
  torch::optim::serialize<LarsParamState, LarsOptions>(archive, *this);
}

void Lars::step_batch(std::size_t group, LayerwiseUpdate& update) {
  const auto& options = static_cast<const LarsOptions&>(param_groups_[group].options());
  const double decay = options.weight_decay();
  const at::Tensor rate = update.rate(options.lr());
  at::Tensor factors;
  if (decay != 0 || options.always_adapt()) {
    const at::Tensor weights = update.norms(update.parameters()), gradients = update.norms(update.updates());
    const at::Tensor local = weights * options.trust_coefficient() / (gradients + weights * decay + options.eps());
    factors = at::where(weights.gt(0).logical_and_(gradients.gt(0)), local, 1) * rate;
  }
  if (decay != 0) at::_foreach_add_(update.updates(), update.parameters(), decay);
  factors.defined() ? update.scale_each(factors) : static_cast<void>(update.all().mul_(rate));

  if (options.momentum() != 0) {
    std::vector<at::Tensor> velocities;
    for (std::size_t i = 0; i < update.parameters().size(); ++i) {
      auto& state = own_state<LarsParamState>(state_, update.owners()[i]);
      state.momentum_buffer(state.momentum_buffer().defined()
                                ? fitting_state(update.updates()[i], state.momentum_buffer())
                                : at::zeros_like(update.updates()[i]));
      velocities.push_back(state.momentum_buffer());
    }
    update.drop_if_skipped();
    at::_foreach_mul_(velocities, update.decay(options.momentum()));
    at::_foreach_add_(velocities, update.updates());
    update.subtract(velocities);
  } else {
    update.subtract(update.updates());
  }
}

}  // namespace lockstep::optim
