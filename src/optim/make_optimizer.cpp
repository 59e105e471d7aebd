#include <lockstep/optim/make_optimizer.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>
#include <lockstep/optim/adam.h>
#include <lockstep/optim/lamb.h>
#include <lockstep/optim/lars.h>
#include <lockstep/optim/sgd.h>

#include "check_options.h"

namespace lockstep::optim {
namespace {

// Takes over an option that was given, or refuses it where the optimizer has none of that name.
#define LOCKSTEP_TAKE_OPTION(name)                                                                         \
  if (given.name) {                                                                                        \
    if constexpr (requires { made.name(*given.name); }) {                                                  \
      made.name(*given.name);                                                                              \
    } else {                                                                                               \
      throw UsageError({.message = fmt::format("the optimizer '{}' has no option '" #name "'", optimizer), \
                        .next = "leave it out"});                                                          \
    }                                                                                                      \
  }

template <typename Options>
Options take_options(const std::string& optimizer, const OptimizerOptions& given, Options made) {
  LOCKSTEP_TAKE_OPTION(lr)
  LOCKSTEP_TAKE_OPTION(weight_decay)
  LOCKSTEP_TAKE_OPTION(momentum)
  LOCKSTEP_TAKE_OPTION(dampening)
  LOCKSTEP_TAKE_OPTION(nesterov)
  LOCKSTEP_TAKE_OPTION(betas)
  LOCKSTEP_TAKE_OPTION(eps)
  LOCKSTEP_TAKE_OPTION(amsgrad)
  LOCKSTEP_TAKE_OPTION(trust_coefficient)
  LOCKSTEP_TAKE_OPTION(always_adapt)
  check_options(made);
  return made;
}
#undef LOCKSTEP_TAKE_OPTION

// SGDOptions have no rate of their own in C++; this is Python's.
template <typename Options>
Options default_options() {
  if constexpr (std::is_default_constructible_v<Options>) {
    return Options();
  } else {
    return Options(1e-3);
  }
}

using Made = std::unique_ptr<torch::optim::Optimizer>;

// `Plain` is libtorch's own, if it has one.
template <typename Optimizer, typename Options, typename Plain = void>
Made make(const std::string& name, const std::vector<ParameterGroup>& groups, const OptimizerOptions& given) {
  const auto defaults = take_options(name, given, default_options<Options>());
  std::vector<torch::optim::OptimizerParamGroup> made;
  for (const ParameterGroup& group : groups) {
    const OptimizerOptions own{.lr = group.lr, .weight_decay = group.weight_decay};
    made.emplace_back(group.parameters, std::make_unique<Options>(take_options(name, own, defaults)));
  }
  if (given.fused) return std::make_unique<Optimizer>(made, defaults);
  if constexpr (std::is_void_v<Plain>) {
    throw UsageError({.message = fmt::format("the optimizer '{}' is ours alone: libtorch has none", name),
                      .next = "leave it fused"});
  } else {
    return std::make_unique<Plain>(made, defaults);
  }
}

using Factory = Made (*)(const std::string&, const std::vector<ParameterGroup>&, const OptimizerOptions&);
const std::vector<std::pair<std::string, Factory>>& factories() {
  static const std::vector<std::pair<std::string, Factory>> all = {
      {"sgd", make<Sgd, torch::optim::SGDOptions, torch::optim::SGD>},
      {"adam", make<Adam, torch::optim::AdamOptions, torch::optim::Adam>},
      {"adamw", make<AdamW, torch::optim::AdamWOptions, torch::optim::AdamW>},
      {"lars", make<Lars, LarsOptions>},
      {"lamb", make<Lamb, LambOptions>},
  };
  return all;
}

}  // namespace

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const auto& [name, factory] : factories()) names.push_back(name);
  return names;
}

Made make_optimizer(const std::string& name, const std::vector<ParameterGroup>& groups,
                    const OptimizerOptions& options) {
  const auto& all = factories();
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& known) { return known.first == name; });
  if (found == all.end()) {
    const auto names = optimizer_names();
    throw UsageError({.message = fmt::format("there is no optimizer '{}'{}", name, did_you_mean(name, names)),
                      .expected = fmt::format("one of {}", fmt::join(names, ", "))});
  }
  return found->second(name, groups, options);
}

}  // namespace lockstep::optim
