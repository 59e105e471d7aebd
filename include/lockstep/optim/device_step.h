// What the steps of our optimizers can leave to the device, so that the host waits for nothing and a CUDA graph can
// hold a step.
#pragma once
#include <ATen/core/Tensor.h>

namespace lockstep::optim {

// Each of our optimizers is one; who holds a torch::optim::Optimizer asks with dynamic_cast.
class DeviceStep {
 public:
  virtual ~DeviceStep() = default;

  // From the next step on, gradients are divided by `scale`, and a step changes nothing at all if `found_inf` is not 0.
  // Both are float32 tensors of one element that the device reads when it carries out the step, so they may be written
  // until then. An undefined one: not divided, never skipped. Gradients that are not finite are fine in a skipped step.
  // What a step leaves in the gradients themselves, scaled or not, is not to be relied on.
  virtual void set_gradient_scale(at::Tensor scale, at::Tensor found_inf) = 0;

  // From the next step on, learning rates are read from the device, where a step that a CUDA graph replays finds them.
  // Each step that the host calls, and refresh_rates(), brings those of the options there that have changed; without
  // waiting. So refresh before a step is captured, or the graph holds the change.
  virtual void keep_rates_on_device() = 0;

  // Before a replay, after rates may have changed in the options.
  virtual void refresh_rates() = 0;
};

}  // namespace lockstep::optim
