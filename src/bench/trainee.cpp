#include "trainee.h"

#include <torch/optim/sgd.h>
#include <torch/utils.h>

#include <lockstep/base/errors.h>
#include <lockstep/nn/registry.h>
#include <lockstep/optim/sgd.h>

namespace lockstep::bench {
namespace {

// Small, so that no model diverges on the one batch that it sees again and again.
constexpr double kLearningRate = 0.001, kMomentum = 0.9;

std::shared_ptr<nn::Model> make_model(const StepOptions& options) {
  torch::manual_seed(0);
  return nn::make_model(options.model, options.model_options);
}

train::TrainingStepOptions step_options(train::Mode mode, const StepOptions& options) {
  const auto make_sgd =
      [fused = options.recipe.fused_optimizer](const auto& groups) -> std::unique_ptr<torch::optim::Optimizer> {
    const auto sgd = torch::optim::SGDOptions(kLearningRate).momentum(kMomentum);
    if (fused) return std::make_unique<optim::Sgd>(groups.front().parameters, sgd);
    return std::make_unique<torch::optim::SGD>(groups.front().parameters, sgd);
  };
  return {.mode = mode,
          .device = options.device,
          .precision = amp::parse_precision(options.recipe.precision),
          .channels_last = options.recipe.channels_last,
          .graph = options.recipe.graph,
          .optimizer = make_sgd,
          .groups = {.decay_norms_and_biases = true},
          .ranges = options.ranges};
}

}  // namespace

Trainee::Trainee(train::Mode mode, const Group& group, const StepOptions& options)
    : ranges_({.detail =
                   options.ranges.detail == gpu::RangeDetail::kOff ? gpu::RangeDetail::kOff : gpu::RangeDetail::kSteps,
               .synchronize = options.ranges.synchronize,
               .device = options.device}),
      model_(make_model(options)),
      step_(model_, group, step_options(mode, options)),
      batches_(options, group, model_->input_shape(), model_->num_classes()),
      device_(options.device),
      profiled_steps_(mode == options.modes.front() ? options.profiled_steps : std::nullopt),
      traced_steps_(mode == options.modes.front() ? options.traced_steps : std::nullopt) {
  if (!traced_steps_) return;
  trace_.emplace(
      group, train::StepTraceOptions{.steps = *traced_steps_, .file = options.trace_file, .device = options.device});
}

void Trainee::step() {
  if (profiled_steps_ && steps_ == profiled_steps_->first) profiled_.emplace(device_);
  if (profiled_steps_ && steps_ == profiled_steps_->first + profiled_steps_->count) profiled_.reset();
  if (trace_) trace_->reach(steps_);
  ++steps_;
  const auto iteration = ranges_.range("iteration");
  {
    const auto data = ranges_.range("data");
    batches_.next();
  }
  step_.run(batches_.batch());
}

std::int64_t Trainee::parameters() const {
  std::int64_t count = 0;
  for (const at::Tensor& parameter : model_->parameters()) count += parameter.numel();
  return count;
}

std::optional<trace::Summary> Trainee::finish_trace() {
  if (!trace_) return std::nullopt;
  while (steps_ < traced_steps_->end) step();
  trace_->reach(steps_);
  if (!trace_->problem().empty()) throw RuntimeError(trace_->problem());
  return trace_->summary();
}

}  // namespace lockstep::bench
