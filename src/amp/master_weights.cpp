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
  std::vector<at::Tensor> parameters;
  torch::OrderedDict<std::string, at::Tensor> named;  // each tensor once
  std::vector<Pair> pairs;
  std::unordered_map<const at::TensorImpl*, std::size_t> pair_of;  // by the master

  // Those whose master is among the parameters of `optimizer`, each once.
  std::vector<const Pair*> pairs_of(const torch::optim::Optimizer& optimizer) const {
    std::vector<const Pair*> found;
    if (pairs.empty()) return found;
    std::vector<bool> seen(pairs.size());
    for (const auto& group : optimizer.param_groups()) {
      for (const at::Tensor& parameter : group.params()) {
        const auto pair = pair_of.find(parameter.unsafeGetTensorImpl());
        if (pair == pair_of.end() || seen[pair->second]) continue;
        seen[pair->second] = true;
        found.push_back(&pairs[pair->second]);
      }
    }
    return found;
  }
};

MasterWeights::MasterWeights(const torch::nn::Module& module, const Precision& precision)
    : state_(std::make_shared<State>()) {
  std::unordered_map<const at::TensorImpl*, at::Tensor> known;  // what stands for a parameter of the module
  for (const auto& parameter : module.named_parameters()) {
    const at::Tensor& model = parameter.value();
    const auto tied = known.find(model.unsafeGetTensorImpl());
    if (tied != known.end()) {
      state_->parameters.push_back(tied->second);
      continue;
    }
    const bool low = model.scalar_type() == at::kHalf || model.scalar_type() == at::kBFloat16;
    const bool copied = precision.master_weights && low;
    const at::Tensor master = copied ? model.detach().to(at::kFloat).requires_grad_(model.requires_grad()) : model;
    known.emplace(model.unsafeGetTensorImpl(), master);
    state_->parameters.push_back(master);
    state_->named.insert(parameter.key(), master);
    if (!copied) continue;
    state_->pair_of[master.unsafeGetTensorImpl()] = state_->pairs.size();
    state_->pairs.push_back({.name = parameter.key(), .master = master, .model = model});
  }
}

const std::vector<at::Tensor>& MasterWeights::parameters() const {
  return state_->parameters;
}

torch::OrderedDict<std::string, at::Tensor> MasterWeights::named_parameters() const {
  return state_->named;
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
