#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/optim/optimizer.h>

namespace lockstep::optim {

// What an optimizer keeps for DeviceStep, and gives its kernels device by device.
class StepControls {
 public:
  using Groups = std::vector<torch::optim::OptimizerParamGroup>;

  void set_gradient_scale(at::Tensor scale, at::Tensor found_inf);
  void keep_rates(const Groups& groups);
  void refresh_rates(const Groups& groups);

  // At the start of each step.
  void begin(const Groups& groups);

  // Whether steps may turn out to change nothing.
  bool may_skip() const { return found_inf_.defined(); }
  // Whether this one does. Waits for the device.
  bool is_skipped() const;

  // Of no dimension, on `device`: float32, or nothing.
  std::optional<at::Tensor> gradient_scale(at::Device device) const;
  std::optional<at::Tensor> found_inf(at::Device device) const;  // 0 or 1

  // The learning rate of a group where `device` reads it: undefined if the host's is to be used. A rate on the CPU is
  // always the host's.
  at::Tensor rate(std::size_t group, at::Device device) const;

 private:
  struct Rate {
    std::size_t group;
    at::Tensor tensor;
    double value;  // that it has, or will have when the device gets there
  };
  void bring(std::size_t group, double value, at::Device device);

  at::Tensor scale_, found_inf_, skipped_;
  bool keeps_rates_ = false;
  std::vector<Rate> rates_;
};

}  // namespace lockstep::optim
