// An optimizer that leaves scale and flag to the device, as optim's do, in the fewest lines.
#pragma once
#include <torch/torch.h>

#include <lockstep/optim/device_step.h>

namespace lockstep::test {

class DeviceSgd : public torch::optim::SGD, public optim::DeviceStep {
 public:
  using SGD::SGD;

  at::Tensor step(LossClosure /*closure*/ = nullptr) override {
    const torch::NoGradGuard no_gradients;
    ++calls;
    given = found_inf;
    const double rate = param_groups().front().options().get_lr();
    for (auto& parameter : param_groups().front().params()) {
      at::Tensor gradient = parameter.grad();
      if (scale.defined()) gradient = gradient / scale;
      const at::Tensor next = parameter - rate * gradient;
      parameter.copy_(found_inf.defined() ? torch::where(found_inf > 0, parameter, next) : next);
    }
    return {};
  }

  void set_gradient_scale(at::Tensor new_scale, at::Tensor new_found_inf) override {
    scale = std::move(new_scale);
    found_inf = std::move(new_found_inf);
  }
  void keep_rates_on_device() override {}
  void refresh_rates() override {}

  at::Tensor scale, found_inf;
  at::Tensor given;  // the flag of the last step
  int calls = 0;
};

}  // namespace lockstep::test
