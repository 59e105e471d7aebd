#include <lockstep/optim/named_state.h>

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <fmt/format.h>

#include <lockstep/base/text.h>

#include "named_entries.h"
#include "optimizer_kinds.h"
#include "option_text.h"

namespace lockstep::optim {
namespace {

using Names = torch::OrderedDict<std::string, at::Tensor>;
constexpr const char *kOptimizer = "optimizer", *kGroups = "groups", *kWithState = "parameters_with_state";
constexpr std::size_t kNamed = 4;  // at most, in an error

// The parameters of an optimizer, group by group, and how they are called.
struct Named {
  std::string name;
  at::Tensor parameter;
  const torch::optim::OptimizerParamGroup* group;
};

std::vector<Named> named_parameters(const torch::optim::Optimizer& optimizer, const Names& names) {
  std::unordered_map<const void*, std::string> name_of;
  for (const auto& named : names) name_of.emplace(named->unsafeGetTensorImpl(), named.key());
  std::vector<Named> result;
  for (const auto& group : optimizer.param_groups()) {
    for (const at::Tensor& parameter : group.params()) {
      const auto found = name_of.find(parameter.unsafeGetTensorImpl());
      if (found == name_of.end()) {
        throw UsageError({.message = "a parameter of the optimizer has no name",
                          .next = "give all named_parameters() of the model that it belongs to"});
      }
      result.push_back({found->second, parameter, &group});
    }
  }
  return result;
}

std::string option_key(std::size_t group, const char* option) {
  return fmt::format("group.{}.{}", group, option);
}

template <typename Kind>
NamedState state_of(const torch::optim::Optimizer& optimizer, const Names& names) {
  NamedState result;
  std::int64_t with_state = 0;
  for (const auto& [name, parameter, group] : named_parameters(optimizer, names)) {
    const auto* state = find_state<typename Kind::State>(optimizer.state(), parameter);
    if (state == nullptr) continue;
    const std::size_t before = result.tensors.size();
    const auto& options = static_cast<const typename Kind::Options&>(group->options());
    Kind::visit_state(*state, options, [&, &key = name](const char* entry, const at::Tensor& tensor, bool) {
      if (tensor.defined()) result.tensors.emplace(key + "." + entry, tensor.detach());
    });
    if (result.tensors.size() == before) continue;
    if constexpr (Kind::kCounts) result.tensors.emplace(name + ".step", step_of(*state));
    ++with_state;
  }
  result.values = {{kOptimizer, Kind::kName},
                   {kGroups, fmt::format("{}", optimizer.param_groups().size())},
                   {kWithState, fmt::format("{}", with_state)}};
  for (std::size_t i = 0; i < optimizer.param_groups().size(); ++i) {
    const auto& options = static_cast<const typename Kind::Options&>(optimizer.param_groups()[i].options());
    Kind::visit_options(options, [&](const char* option, const auto& value) {
      result.values.emplace(option_key(i, option), option_text(value));
    });
  }
  return result;
}

const std::string& value_at(const NamedState& state, const std::string& key) {
  const auto found = state.values.find(key);
  if (found == state.values.end()) throw UsageError(fmt::format("the optimizer's state has no '{}'", key));
  return found->second;
}

void require_value(const NamedState& state, const char* key, const std::string& expected) {
  const std::string& found = value_at(state, key);
  if (found == expected) return;
  throw UsageError({.message = fmt::format("the state of another optimizer cannot be loaded: '{}' differs", key),
                    .found = found,
                    .expected = expected});
}

template <typename Kind>
std::vector<typename Kind::Options> read_options(const NamedState& state, std::size_t groups) {
  std::vector<typename Kind::Options> result;
  std::size_t used = 3;
  for (std::size_t i = 0; i < groups; ++i) {
    Kind::visit_options(result.emplace_back(0.0), [&](const char* option, auto& value) {
      const std::string key = option_key(i, option);
      parse_option(key, value_at(state, key), value);
      ++used;
    });
  }
  if (used != state.values.size()) {
    throw UsageError({.message = "the optimizer's state has values that this optimizer does not know",
                      .found = fmt::format("{} of them", state.values.size()),
                      .expected = fmt::format("{}", used)});
  }
  return result;
}

template <typename Kind>
void load(torch::optim::Optimizer& optimizer, const Names& names, const NamedState& state) {
  using State = typename Kind::State;
  auto& groups = optimizer.param_groups();
  require_value(state, kOptimizer, Kind::kName);
  require_value(state, kGroups, fmt::format("{}", groups.size()));
  const auto options = read_options<Kind>(state, groups.size());
  const NamedEntries entries("the optimizer's state", state.tensors);
  StateMap loaded;
  std::vector<std::string> without;
  for (const auto& [name, parameter, group] : named_parameters(optimizer, names)) {
    const auto copied = [&, &parameter = parameter](const at::Tensor& tensor) {
      const auto target = at::TensorOptions(parameter.device()).dtype(tensor.scalar_type());
      // Of a parameter's shape: in its layout too, as the optimizer would have made it.
      const at::Tensor copy =
          tensor.sizes() == parameter.sizes() ? at::empty_like(parameter, target) : at::empty(tensor.sizes(), target);
      return copy.copy_(tensor.detach());
    };
    auto made = std::make_unique<State>();
    const auto& own = options[static_cast<std::size_t>(group - groups.data())];
    bool has_any = false;
    Kind::visit_state(*made, own, [&, &key = name](const char* entry, const at::Tensor&, bool) {
      has_any = has_any || entries.has(key + "." + entry);
    });
    if (!has_any) {
      without.push_back(name);
      continue;
    }
    Kind::visit_state(*made, own,
                      [&, &key = name, &parameter = parameter](const char* entry, at::Tensor& tensor, bool is_needed) {
                        const std::string full_name = key + "." + entry;
                        if (is_needed || entries.has(full_name))
                          tensor = copied(entries.at(full_name, parameter.sizes()));
                      });
    if constexpr (Kind::kCounts) set_step(*made, copied(entries.at(name + ".step", {})));
    loaded[parameter.unsafeGetTensorImpl()] = std::move(made);
  }
  entries.require_all_used();
  if (value_at(state, kWithState) != fmt::format("{}", loaded.size())) {
    throw UsageError({.message = "the optimizer's state lacks parameters",
                      .found = fmt::format("{}, without {}", loaded.size(), format_some(without, kNamed)),
                      .expected = value_at(state, kWithState)});
  }
  optimizer.state() = std::move(loaded);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    static_cast<typename Kind::Options&>(groups[i].options()) = options[i];
  }
}

}  // namespace

NamedState named_state(const torch::optim::Optimizer& optimizer, const Names& names) {
  NamedState result;
  with_kind(optimizer, [&]<typename Kind>(Kind) { result = state_of<Kind>(optimizer, names); });
  return result;
}

void load_named_state(torch::optim::Optimizer& optimizer, const Names& names, const NamedState& state) {
  with_kind(optimizer, [&]<typename Kind>(Kind) { load<Kind>(optimizer, names, state); });
}

}  // namespace lockstep::optim
