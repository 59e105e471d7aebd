#include <lockstep/optim/lamb.h>

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/optim/serialize.h>

#include "check_options.h"
#include "kernel_batch.h"
#include "layerwise_update.h"
#include "parameter_state.h"

namespace lockstep::optim {

void LambOptions::serialize(torch::serialize::OutputArchive& archive) const {
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(lr);
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(betas);
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(eps);
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(weight_decay);
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(always_adapt);
}

void LambOptions::serialize(torch::serialize::InputArchive& archive) {
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(double, lr);
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(betas_t, betas);
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(double, eps);
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(double, weight_decay);
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(bool, always_adapt);
}

void LambParamState::serialize(torch::serialize::OutputArchive& archive) const {
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(step);
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(exp_avg);
  _TORCH_OPTIM_SERIALIZE_TORCH_ARG(exp_avg_sq);
}

void LambParamState::serialize(torch::serialize::InputArchive& archive) {
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(at::Tensor, step);
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(at::Tensor, exp_avg);
  _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(at::Tensor, exp_avg_sq);
}

Lamb::Lamb(const std::vector<torch::optim::OptimizerParamGroup>& groups, LambOptions defaults)
    : Layerwise(groups, std::make_unique<LambOptions>(defaults)) {
  for (const auto& group : param_groups_) check_options(static_cast<const LambOptions&>(group.options()));
}

void Lamb::save(torch::serialize::OutputArchive& archive) const {
  torch::optim::serialize<LambParamState, LambOptions>(archive, *this);
}

void Lamb::load(torch::serialize::InputArchive& archive) {
  torch::optim::serialize<LambParamState, LambOptions>(archive, *this);
}

namespace {

struct Averages {
  std::vector<at::Tensor> steps, means, squares;
};

Averages prepare_averages(StateMap& states, const LayerwiseUpdate& update) {
  Averages averages;
  for (std::size_t i = 0; i < update.updates().size(); ++i) {
    const at::Tensor& like = update.updates()[i];
    auto& state = own_state<LambParamState>(states, update.owners()[i]);
    const auto fitted = [&](const at::Tensor& average) {
      return average.defined() ? fitting_state(like, average) : at::zeros_like(like);
    };
    state.step(state.step().defined() ? state.step().to(like.device())
                                      : at::zeros({}, like.options().dtype(at::kFloat)));
    state.exp_avg(fitted(state.exp_avg()));
    state.exp_avg_sq(fitted(state.exp_avg_sq()));
    averages.steps.push_back(state.step());
    averages.means.push_back(state.exp_avg());
    averages.squares.push_back(state.exp_avg_sq());
  }
  return averages;
}

// 1 / (1 - beta^t) for each parameter. Before the first step that was not skipped there is nothing to correct.
at::Tensor correction(double beta, const at::Tensor& steps) {
  return at::where(steps.gt(0), at::pow(beta, steps).neg_().add_(1).reciprocal_(), 1);
}

}  // namespace

void Lamb::step_batch(std::size_t group, LayerwiseUpdate& update) {
  const auto& options = static_cast<const LambOptions&>(param_groups_[group].options());
  const auto [beta1, beta2] = options.betas();
  const Averages averages = prepare_averages(state_, update);
  at::_foreach_mul_(averages.means, update.decay(beta1));
  at::_foreach_add_(averages.means, update.updates(), 1 - beta1);
  at::_foreach_mul_(averages.squares, update.decay(beta2));
  at::_foreach_addcmul_(averages.squares, update.updates(), update.updates(), 1 - beta2);
  at::_foreach_add_(averages.steps, 1);
  if (update.skipped()) {
    at::_foreach_sub_(averages.steps, std::vector<at::Tensor>(averages.steps.size(), update.skipped()->to(at::kFloat)));
  }

  const at::Tensor steps = at::stack(averages.steps).to(at::kDouble);
  at::_foreach_copy_(update.updates(), averages.squares);
  update.scale_each(correction(beta2, steps));
  update.all().sqrt_().add_(options.eps()).reciprocal_();
  at::_foreach_mul_(update.updates(), averages.means);
  update.scale_each(correction(beta1, steps));
  if (options.weight_decay() != 0) at::_foreach_add_(update.updates(), update.parameters(), options.weight_decay());

  const at::Tensor rate = update.rate(options.lr());
  if (options.weight_decay() != 0 || options.always_adapt()) {
    const at::Tensor weights = update.norms(update.parameters()), updates = update.norms(update.updates());
    const at::Tensor both = weights.gt(0).logical_and_(updates.gt(0));
    update.scale_each(at::where(both, weights / updates, 1) * rate);
  } else {
    update.all().mul_(rate);
  }
  update.subtract(update.updates());
}

}  // namespace lockstep::optim
