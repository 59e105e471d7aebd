// The options and the state of each kind of optimizer, entry by entry.
#pragma once
#include <lockstep/base/errors.h>
#include <lockstep/optim/adam.h>
#include <lockstep/optim/lamb.h>
#include <lockstep/optim/lars.h>
#include <lockstep/optim/sgd.h>

#include "parameter_state.h"

namespace lockstep::optim {

struct SgdKind {
  using Options = torch::optim::SGDOptions;
  using State = torch::optim::SGDParamState;
  static constexpr const char* kName = "sgd";
  static constexpr bool kCounts = false;

  static void visit_options(auto& options, const auto& visit) {
    visit("lr", options.lr());
    visit("momentum", options.momentum());
    visit("dampening", options.dampening());
    visit("weight_decay", options.weight_decay());
    visit("nesterov", options.nesterov());
  }
  // `visit` gets the name, the tensor, and whether a parameter with these options must have it.
  static void visit_state(auto& state, const Options&, const auto& visit) {
    visit("momentum_buffer", state.momentum_buffer(), true);
  }
};

// Adam and AdamW, whose `step` is a number that goes by another way.
template <typename OptionsOfIt, typename StateOfIt>
struct AdamKindOf {
  using Options = OptionsOfIt;
  using State = StateOfIt;
  static constexpr bool kCounts = true;

  static void visit_options(auto& options, const auto& visit) {
    visit("lr", options.lr());
    visit("betas", options.betas());
    visit("eps", options.eps());
    visit("weight_decay", options.weight_decay());
    visit("amsgrad", options.amsgrad());
  }
  static void visit_state(auto& state, const Options& options, const auto& visit) {
    visit("exp_avg", state.exp_avg(), true);
    visit("exp_avg_sq", state.exp_avg_sq(), true);
    visit("max_exp_avg_sq", state.max_exp_avg_sq(), options.amsgrad());
  }
};
struct AdamKind : AdamKindOf<torch::optim::AdamOptions, torch::optim::AdamParamState> {
  static constexpr const char* kName = "adam";
};
struct AdamWKind : AdamKindOf<torch::optim::AdamWOptions, torch::optim::AdamWParamState> {
  static constexpr const char* kName = "adamw";
};

struct LarsKind {
  using Options = LarsOptions;
  using State = LarsParamState;
  static constexpr const char* kName = "lars";
  static constexpr bool kCounts = false;

  static void visit_options(auto& options, const auto& visit) {
    visit("lr", options.lr());
    visit("momentum", options.momentum());
    visit("weight_decay", options.weight_decay());
    visit("trust_coefficient", options.trust_coefficient());
    visit("eps", options.eps());
    visit("always_adapt", options.always_adapt());
  }
  static void visit_state(auto& state, const Options&, const auto& visit) {
    visit("momentum_buffer", state.momentum_buffer(), true);
  }
};

struct LambKind {
  using Options = LambOptions;
  using State = LambParamState;
  static constexpr const char* kName = "lamb";
  static constexpr bool kCounts = true;

  static void visit_options(auto& options, const auto& visit) {
    visit("lr", options.lr());
    visit("betas", options.betas());
    visit("eps", options.eps());
    visit("weight_decay", options.weight_decay());
    visit("always_adapt", options.always_adapt());
  }
  static void visit_state(auto& state, const Options&, const auto& visit) {
    visit("exp_avg", state.exp_avg(), true);
    visit("exp_avg_sq", state.exp_avg_sq(), true);
  }
};

// The number of steps, as a tensor of one float32.
template <typename State>
at::Tensor step_of(const State& state) {
  if (const auto* counted = dynamic_cast<const CountedState<State>*>(&state)) return counted->counter();
  return at::full({}, static_cast<double>(state.step()), at::kFloat);
}
inline at::Tensor step_of(const LambParamState& state) {
  return state.step();
}

template <typename State>
void set_step(State& state, const at::Tensor& step) {
  state.step(step.item<std::int64_t>());
}
inline void set_step(LambParamState& state, const at::Tensor& step) {
  state.step(step.to(at::kFloat, /*non_blocking=*/false, /*copy=*/true));
}

// Calls `function` with the kind of the optimizer. Throws UsageError for one that is none of them.
template <typename Function>
void with_kind(const torch::optim::Optimizer& optimizer, const Function& function) {
  const auto is = [&]<typename Kind>(const Kind*) { return dynamic_cast<const Kind*>(&optimizer) != nullptr; };
  if (is(static_cast<const torch::optim::SGD*>(nullptr))) return function(SgdKind());
  if (is(static_cast<const torch::optim::Adam*>(nullptr))) return function(AdamKind());
  if (is(static_cast<const torch::optim::AdamW*>(nullptr))) return function(AdamWKind());
  if (is(static_cast<const Lars*>(nullptr))) return function(LarsKind());
  if (is(static_cast<const Lamb*>(nullptr))) return function(LambKind());
  throw UsageError({.message = "the state of this kind of optimizer has no names",
                    .expected = "sgd, adam, adamw, lars or lamb",
                    .next = "of a ZeroRedundancyOptimizer, take what consolidate() returns"});
}

}  // namespace lockstep::optim
