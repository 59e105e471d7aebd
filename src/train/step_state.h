#pragma once
#include <lockstep/amp/grad_scaler.h>
#include <lockstep/amp/master_weights.h>
#include <lockstep/train/training_step.h>

namespace lockstep::train {

// What of a step has state.
struct Stateful {
  torch::optim::Optimizer& optimizer;
  const amp::MasterWeights& weights;
  amp::GradScaler& scaler;
};

StepState state_of_step(const Stateful& parts);
// Changes the optimizer last, so that a state that does not fit changes as little as possible.
void load_state_of_step(const Stateful& parts, const StepState& state);

}  // namespace lockstep::train
