#include <lockstep/amp/master_weights.h>

#include <algorithm>
#include <unordered_map>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/empty_like.h>
#include <c10/util/StringUtil.h>
#include <fmt/format.h>

#include <lockstep/base/errors.h>

namespace lockstep::amp {

struct MasterWeights::State {
  struct Pair {
    std::string name;
    at::Tensor master, model;
  };
  std::vector<std::string> names;
  std::vector<at::Tensor> parameters;
  std::vector<Pair> pairs;
  std::unordered_map<const at::TensorImpl*, std::size_t> pair_of;  // by the master

  // Those whose master is among the parameters of `optimizer`.
  std::vector<const Pair*> pairs_of(const torch::optim::Optimizer& optimizer) const {
    std::vector<const Pair*> found;
    if (pairs.empty()) return found;
    for (const auto& group : optimizer.param_groups()) {
      for (const at::Tensor& parameter : group.params()) {
        const auto pair = pair_of.find(parameter.unsafeGetTensorImpl());
        if (pair != pair_of.end()) found.push_back(&pairs[pair->second]);
      }
    }
    return found;
  }
};

MasterWeights::MasterWeights(const torch::nn::Module& module, const Precision& precision)
    : state_(std::make_shared<State>()) {
  for (const auto& parameter : module.named_parameters()) {
    state_->names.push_back(parameter.key());
    const at::Tensor& model = parameter.value();
    const bool low = model.scalar_type() == at::kHalf || model.scalar_type() == at::kBFloat16;
    if (!precision.master_weights || !low) {
      state_->parameters.push_back(model);
      continue;
    }
    const at::Tensor master = model.detach().to(at::kFloat).requires_grad_(model.requires_grad());
    state_->parameters.push_back(master);
    state_->pair_of[master.unsafeGetTensorImpl()] = state_->pairs.size();
    state_->pairs.push_back({.name = parameter.key(), .master = master, .model = model});
  }
}

const std::vector<at::Tensor>& MasterWeights::parameters() const {
  return state_->parameters;
}

torch::OrderedDict<std::string, at::Tensor> MasterWeights::named_parameters() const {
  torch::OrderedDict<std::string, at::Tensor> named;
  for (std::size_t i = 0; i < state_->names.size(); ++i) named.insert(state_->names[i], state_->parameters[i]);
  return named;
}

bool MasterWeights::has_copies() const {
  return !state_->pairs.empty();
}

void MasterWeights::take_gradients(const torch::optim::Optimizer& optimizer) const {
  const at::NoGradGuard no_gradients;
  std::vector<at::Tensor> wide, low;
  for (const auto* pair : state_->pairs_of(optimizer)) {
    const at::Tensor& gradient = pair->model.grad();
    at::Tensor& target = pair->master.mutable_grad();
    if (!gradient.defined()) {
      target.reset();
    } else if (gradient.is_sparse()) {
      target = gradient.to(at::kFloat);
    } else {
      if (!target.defined() || target.is_sparse()) target = at::empty_like(pair->master, pair->master.options());
      wide.push_back(target);
      low.push_back(gradient);
    }
  }
  if (!wide.empty()) at::_foreach_copy_(wide, low);
}

void MasterWeights::write_back(const torch::optim::Optimizer& optimizer) const {
  const at::NoGradGuard no_gradients;
  std::vector<at::Tensor> masters, models;
  for (const auto* pair : state_->pairs_of(optimizer)) {
    masters.push_back(pair->master);
    models.push_back(pair->model);
  }
  if (!masters.empty()) at::_foreach_copy_(models, masters);
}

torch::OrderedDict<std::string, at::Tensor> MasterWeights::state() const {
  torch::OrderedDict<std::string, at::Tensor> state;
  for (const auto& pair : state_->pairs) state.insert(pair.name, pair.master.detach());
  return state;
}

void MasterWeights::load_state(const torch::OrderedDict<std::string, at::Tensor>& state) const {
  if (state.size() != state_->pairs.size()) {
    throw UsageError({.message = "these are not the master weights of this model",
                      .found = fmt::format("{} tensors", state.size()),
                      .expected = fmt::format("{}", state_->pairs.size())});
  }
  for (const auto& pair : state_->pairs) {
    const at::Tensor* found = state.find(pair.name);
    if (found == nullptr || found->sizes() != pair.master.sizes()) {
      throw UsageError({.message = fmt::format("the master weights have no '{}' that fits", pair.name),
                        .found = found == nullptr ? "none" : "shape " + c10::str(found->sizes()),
                        .expected = "shape " + c10::str(pair.master.sizes())});
    }
  }
  const at::NoGradGuard no_gradients;
  for (const auto& pair : state_->pairs) {
    at::Tensor master = pair.master, model = pair.model;
    master.copy_(state[pair.name]);
    model.copy_(master);
  }
}

}  // namespace lockstep::amp
