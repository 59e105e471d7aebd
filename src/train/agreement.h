// How ranks come to the same parameters: what the modes of training differ in.
#pragma once
#include <chrono>
#include <memory>
#include <optional>

#include <lockstep/amp/grad_scaler.h>
#include <lockstep/amp/master_weights.h>
#include <lockstep/train/training_step.h>

namespace lockstep::train {

using TrainedModel = std::shared_ptr<nn::Model>;
using ParameterGroups = std::vector<optim::ParameterGroup>;

class Agreement {
 public:
  explicit Agreement(TrainedModel model) : model_(std::move(model)) {}
  virtual ~Agreement() = default;

  virtual at::Tensor forward(const at::Tensor& input) { return model_->forward(input); }

  // The model's: master weights get theirs anew for each step.
  virtual void zero_grad() { model_->zero_grad(); }

  // Runs `backward` so that gradients stay on this rank, to be added up; other backwards reduce them, where that is
  // done during backward.
  virtual void accumulate(const std::function<void()>& backward) { backward(); }

  // Once, after the model's parameters are the same on all ranks.
  virtual std::unique_ptr<torch::optim::Optimizer> make_optimizer(const ParameterGroups& groups,
                                                                  const TrainingStepOptions::MakeOptimizer& make,
                                                                  const amp::MasterWeights& weights);

  // Gradients as the update shall find them, so that they can be clipped; and the update.
  virtual void unscale(amp::GradScaler& scaler, torch::optim::Optimizer& optimizer) { scaler.unscale(optimizer); }
  virtual void update(amp::GradScaler& scaler, torch::optim::Optimizer& optimizer) { scaler.step(optimizer); }

  virtual std::optional<std::chrono::duration<double>> exposed() const { return std::nullopt; }
  virtual std::optional<double> hidden() const { return std::nullopt; }

 protected:
  TrainedModel model_;
};

// Collective: makes the parameters and buffers of all ranks those of rank 0.
std::unique_ptr<Agreement> make_agreement(const TrainedModel& model, const Group& group,
                                          const TrainingStepOptions& options);

}  // namespace lockstep::train
