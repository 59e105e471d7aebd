#pragma once
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>

#include <lockstep/optim/with_device_step.h>

namespace lockstep::optim {

// torch::optim::Adam and AdamW by ATen's fused kernels, one call for all parameters of a type and device in a group.
// The same options, groups and files, and the same results up to rounding; AMSGrad too.
//
// The number of a parameter's steps, which corrects the bias, is counted on its device, so that a skipped step does not
// count and a CUDA graph can hold a step. Files have that number, as libtorch's do; saving waits for the device. The
// `step` of a parameter's state in memory counts calls alone.
class Adam : public WithDeviceStep<torch::optim::Adam> {
 public:
  using WithDeviceStep::WithDeviceStep;

 private:
  void step_group(std::size_t index) override;
};

class AdamW : public WithDeviceStep<torch::optim::AdamW> {
 public:
  using WithDeviceStep::WithDeviceStep;

 private:
  void step_group(std::size_t index) override;
};

}  // namespace lockstep::optim
