#include "step_state.h"

#include <set>
#include <string_view>

#include <lockstep/optim/named_state.h>
#include <lockstep/parallel/zero_redundancy_optimizer.h>

#include "named_values.h"

namespace lockstep::train {
namespace {

constexpr std::string_view kOptimizer = "optimizer/", kMaster = "master/", kScaler = "scaler/";
constexpr const char* kWithState = "parameters_with_state";  // of optim::NamedState

using Tensors = std::map<std::string, at::Tensor>;
using Ordered = torch::OrderedDict<std::string, at::Tensor>;

Tensors by_name(const Ordered& tensors) {
  Tensors result;
  for (const auto& named : tensors) result.emplace(named.key(), named.value());
  return result;
}

Ordered ordered(const Tensors& tensors) {
  Ordered result;
  for (const auto& [name, tensor] : tensors) result.insert(name, tensor);
  return result;
}

// The names of an optimizer's own parameters.
std::set<std::string> names_in(const torch::optim::Optimizer& optimizer, const Ordered& names) {
  std::set<const void*> has;
  for (const auto& group : optimizer.param_groups()) {
    for (const at::Tensor& parameter : group.params()) has.insert(parameter.unsafeGetTensorImpl());
  }
  std::set<std::string> result;
  for (const auto& named : names) {
    if (has.contains(named->unsafeGetTensorImpl())) result.insert(named.key());
  }
  return result;
}

// Of the states of all ranks, that of the parameters which this rank's optimizer has.
optim::NamedState share_of(const optim::NamedState& whole, const torch::optim::Optimizer& local, const Ordered& names) {
  optim::NamedState share{.values = whole.values};
  std::set<std::string> with_state;
  const std::set<std::string> own = names_in(local, names);
  for (const auto& [name, tensor] : whole.tensors) {
    const std::string parameter = name.substr(0, name.rfind('.'));
    if (!own.contains(parameter)) continue;
    share.tensors.emplace(name, tensor);
    with_state.insert(parameter);
  }
  share.values[kWithState] = std::to_string(with_state.size());
  return share;
}

}  // namespace

StepState state_of_step(const Stateful& parts) {
  StepState state;
  auto* const divided = dynamic_cast<ZeroRedundancyOptimizer*>(&parts.optimizer);
  optim::NamedState named =
      optim::named_state(divided != nullptr ? divided->local() : parts.optimizer, parts.weights.named_parameters());
  if (divided != nullptr) named.values.erase(kWithState);  // each rank has another number of them
  add_named(divided != nullptr ? state.own : state.shared, kOptimizer, named.tensors);
  add_named(state.texts, kOptimizer, named.values);
  add_named(state.shared, kMaster, by_name(parts.weights.state()));
  add_named(state.shared, kScaler, by_name(parts.scaler.state()));
  return state;
}

void load_state_of_step(const Stateful& parts, const StepState& state) {
  parts.weights.load_state(ordered(part_named(state.shared, kMaster)));
  parts.scaler.load_state(ordered(part_named(state.shared, kScaler)));
  optim::NamedState named{.tensors = part_named(state.shared, kOptimizer),
                          .values = part_named(state.texts, kOptimizer)};
  named.tensors.merge(part_named(state.own, kOptimizer));
  const Ordered names = parts.weights.named_parameters();
  if (auto* const divided = dynamic_cast<ZeroRedundancyOptimizer*>(&parts.optimizer)) {
    optim::load_named_state(divided->local(), names, share_of(named, divided->local(), names));
  } else {
    if (!named.values.contains(kWithState)) {  // of mode zero
      named = share_of(named, parts.optimizer, names);
    }
    optim::load_named_state(parts.optimizer, names, named);
  }
}

}  // namespace lockstep::train
