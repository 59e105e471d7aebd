// What an optimizer of libtorch remembers of each parameter.
#pragma once
#include <cstdint>
#include <memory>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <torch/optim/optimizer.h>
#include <torch/serialize/archive.h>

namespace lockstep::optim {

using StateMap = ska::flat_hash_map<void*, std::unique_ptr<torch::optim::OptimizerParamState>>;

// Null before the parameter's first step.
template <typename State>
const State* find_state(const StateMap& states, const at::Tensor& parameter) {
  const auto found = states.find(parameter.unsafeGetTensorImpl());
  return found == states.end() ? nullptr : static_cast<const State*>(found->second.get());
}

// That of the parameter, made if there is none.
template <typename State>
State& own_state(StateMap& states, const at::Tensor& parameter) {
  auto& state = states[parameter.unsafeGetTensorImpl()];
  if (!state) state = std::make_unique<State>();
  return static_cast<State&>(*state);
}

// The state of libtorch's Adam, with the number of steps in a tensor of one float32, as Python has it. Files have it as
// libtorch writes it.
template <typename State>
class CountedState : public State {
 public:
  CountedState(const State& state, at::Tensor counter) : State(state), counter_(std::move(counter)) {}

  const at::Tensor& counter() const { return counter_; }
  void counter(at::Tensor counter) { counter_ = std::move(counter); }

  std::unique_ptr<torch::optim::OptimizerParamState> clone() const override {
    return std::make_unique<CountedState>(*this);
  }

  using State::serialize;
  void serialize(torch::serialize::OutputArchive& archive) const override {
    State plain(*this);
    plain.step(static_cast<std::int64_t>(counter_.item<float>()));
    plain.serialize(archive);
  }

 private:
  at::Tensor counter_;
};

// As own_state, with a counter on the parameter's device; that of a file has none yet.
template <typename State>
CountedState<State>& own_counted_state(StateMap& states, const at::Tensor& parameter) {
  auto& state = states[parameter.unsafeGetTensorImpl()];
  auto* counted = dynamic_cast<CountedState<State>*>(state.get());
  if (counted == nullptr) {
    const State plain = state ? static_cast<const State&>(*state) : State();
    const auto options = at::TensorOptions(parameter.device()).dtype(at::kFloat);
    auto made = std::make_unique<CountedState<State>>(plain, at::full({}, static_cast<double>(plain.step()), options));
    counted = made.get();
    state = std::move(made);
  }
  if (counted->counter().device() != parameter.device()) counted->counter(counted->counter().to(parameter.device()));
  return *counted;
}

}  // namespace lockstep::optim
