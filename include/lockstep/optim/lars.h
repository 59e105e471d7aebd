#pragma once
#include <vector>

#include <torch/arg.h>

#include <lockstep/optim/layerwise.h>

namespace lockstep::optim {

struct LarsOptions : public torch::optim::OptimizerCloneableOptions<LarsOptions> {
  LarsOptions(double lr = 0.1) : lr_(lr) {}
  TORCH_ARG(double, lr) = 0.1;
  TORCH_ARG(double, momentum) = 0.9;
  TORCH_ARG(double, weight_decay) = 0;
  TORCH_ARG(double, trust_coefficient) = 0.001;
  TORCH_ARG(double, eps) = 1e-8;
  TORCH_ARG(bool, always_adapt) = false;

 public:
  void serialize(torch::serialize::InputArchive& archive) override;
  void serialize(torch::serialize::OutputArchive& archive) const override;
  double get_lr() const override { return lr(); }
  void set_lr(const double lr) override { this->lr(lr); }
};

struct LarsParamState : public torch::optim::OptimizerCloneableParamState<LarsParamState> {
  TORCH_ARG(at::Tensor, momentum_buffer);

 public:
  void serialize(torch::serialize::InputArchive& archive) override;
  void serialize(torch::serialize::OutputArchive& archive) const override;
};

// SGD with momentum and a rate for each tensor: Large Batch Training of Convolutional Networks (You, Gitman, Ginsburg,
// 2017), algorithm 1. For a parameter w with gradient g
//
//   local = trust_coefficient * |w| / (|g| + weight_decay * |w| + eps)      1 where |w| or |g| is 0
//   v     = momentum * v + lr * local * (g + weight_decay * w)
//   w     = w - v
//
// so the rate is inside of the velocity v, which is the state's momentum_buffer. In a group without weight decay, where
// normalizations and biases belong, `local` is 1, unless always_adapt is set.
//
// Saved and loaded as libtorch's optimizers are. 16-bit parameters have state in float32.
class Lars : public Layerwise {
 public:
  // Throw UsageError for options that mean nothing.
  explicit Lars(const std::vector<torch::optim::OptimizerParamGroup>& groups, LarsOptions defaults = {});
  explicit Lars(std::vector<at::Tensor> parameters, LarsOptions defaults = {})
      : Lars({torch::optim::OptimizerParamGroup(std::move(parameters))}, defaults) {}

  void save(torch::serialize::OutputArchive& archive) const override;
  void load(torch::serialize::InputArchive& archive) override;

 private:
  void step_batch(std::size_t group, LayerwiseUpdate& update) override;
};

}  // namespace lockstep::optim
