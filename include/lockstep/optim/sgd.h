#pragma once
#include <torch/optim/sgd.h>

#include <lockstep/optim/with_device_step.h>

namespace lockstep::optim {

// torch::optim::SGD by ATen's fused kernel, one call for all parameters of a type and device in a group. The same
// options, groups, state and files, and the same results up to rounding. 16-bit parameters on a CPU are updated in
// float32 and rounded once, because the kernel for them loses updates in libtorch 2.11.
//
// With dampening, a parameter's first step differs from the others; if it may be skipped (DeviceStep), the host waits
// to know whether it was.
class Sgd : public WithDeviceStep<torch::optim::SGD> {
 public:
  using WithDeviceStep::WithDeviceStep;

 private:
  void step_group(std::size_t index) override;
};

}  // namespace lockstep::optim
