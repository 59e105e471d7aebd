#pragma once
#include <tuple>
#include <vector>

#include <torch/arg.h>

#include <lockstep/optim/layerwise.h>

namespace lockstep::optim {

struct LambOptions : public torch::optim::OptimizerCloneableOptions<LambOptions> {
  LambOptions(double lr = 1e-3) : lr_(lr) {}
  using betas_t = std::tuple<double, double>;
  TORCH_ARG(double, lr) = 1e-3;
  TORCH_ARG(betas_t, betas) = std::make_tuple(0.9, 0.999);
  TORCH_ARG(double, eps) = 1e-6;
  TORCH_ARG(double, weight_decay) = 0.01;
  TORCH_ARG(bool, always_adapt) = false;

 public:
  void serialize(torch::serialize::InputArchive& archive) override;
  void serialize(torch::serialize::OutputArchive& archive) const override;
  double get_lr() const override { return lr(); }
  void set_lr(const double lr) override { this->lr(lr); }
};

struct LambParamState : public torch::optim::OptimizerCloneableParamState<LambParamState> {
  TORCH_ARG(at::Tensor, step);  // one float32 on the parameter's device
  TORCH_ARG(at::Tensor, exp_avg);
  TORCH_ARG(at::Tensor, exp_avg_sq);

 public:
  void serialize(torch::serialize::InputArchive& archive) override;
  void serialize(torch::serialize::OutputArchive& archive) const override;
};

// Adam with a rate for each tensor: Large Batch Optimization for Deep Learning (You et al., 2020), with the correction
// of bias, as NVIDIA's FusedLAMB has it. For a parameter w with gradient g, at its step t
//
//   m = beta1 * m + (1 - beta1) * g          v = beta2 * v + (1 - beta2) * g * g
//   u = (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps) + weight_decay * w
//   w = w - lr * (|w| / |u|) * u             the ratio is 1 where |w| or |u| is 0
//
// In a group without weight decay, where normalizations and biases belong, the ratio is 1, unless always_adapt is set.
// FusedLAMB also clips the norm of all gradients to 1: call clip_grad_norm for that.
//
// Saved and loaded as libtorch's optimizers are. 16-bit parameters have state in float32.
class Lamb : public Layerwise {
 public:
  // Throw UsageError for options that mean nothing.
  explicit Lamb(const std::vector<torch::optim::OptimizerParamGroup>& groups, LambOptions defaults = {});
  explicit Lamb(std::vector<at::Tensor> parameters, LambOptions defaults = {})
      : Lamb({torch::optim::OptimizerParamGroup(std::move(parameters))}, defaults) {}

  void save(torch::serialize::OutputArchive& archive) const override;
  void load(torch::serialize::InputArchive& archive) override;

 private:
  void step_batch(std::size_t group, LayerwiseUpdate& update) override;
};

}  // namespace lockstep::optim
