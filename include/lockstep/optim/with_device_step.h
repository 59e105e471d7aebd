#pragma once
#include <cstddef>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <torch/optim/optimizer.h>

#include <lockstep/optim/device_step.h>
#include <lockstep/optim/step_controls.h>

namespace lockstep::optim {

// An optimizer of libtorch that steps group by group, with what DeviceStep promises.
template <typename Base>
class WithDeviceStep : public Base, public DeviceStep {
 public:
  using Base::Base;

  at::Tensor step(torch::optim::Optimizer::LossClosure closure = nullptr) final {
    at::Tensor loss;
    if (closure) {
      const at::AutoGradMode enabled(true);
      loss = closure();
    }
    const at::NoGradGuard no_gradients;
    controls_.begin(this->param_groups_);
    for (std::size_t i = 0; i < this->param_groups_.size(); ++i) step_group(i);
    return loss;
  }

  void set_gradient_scale(at::Tensor scale, at::Tensor found_inf) final {
    controls_.set_gradient_scale(std::move(scale), std::move(found_inf));
  }
  void keep_rates_on_device() final { controls_.keep_rates(this->param_groups_); }
  void refresh_rates() final { controls_.refresh_rates(this->param_groups_); }

 protected:
  const StepControls& controls() const { return controls_; }

 private:
  // Updates the parameters of a group that have gradients. Called without gradient mode.
  virtual void step_group(std::size_t index) = 0;

  StepControls controls_;
};

}  // namespace lockstep::optim
