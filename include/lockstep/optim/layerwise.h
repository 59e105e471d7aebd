// What LARS and LAMB have in common.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include <ATen/core/Tensor.h>

#include <lockstep/optim/with_device_step.h>

namespace lockstep::optim {

class LayerwiseUpdate;

// An optimizer that scales the update of each parameter by norms. Norms and ratios stay on the device, and the number
// of launches on a GPU does not grow with the number of parameters as long as these are dense, of 32 bits or more, and
// have dense gradients of their type. Others cost a few launches each: the update of a 16-bit parameter is computed in
// float32, and subtracted from one at a time. Only real parameters: throws UsageError at a step with a complex one.
class Layerwise : public WithDeviceStep<torch::optim::Optimizer> {
 public:
  using WithDeviceStep::WithDeviceStep;

 private:
  void step_group(std::size_t index) final;
  // For parameters of one type and device that have gradients.
  virtual void step_batch(std::size_t group, LayerwiseUpdate& update) = 0;

  // For each row of an update's memory the parameter that it belongs to, as long as these stay the same.
  struct RowOwners {
    std::vector<std::int64_t> rows;  // of each parameter
    at::Tensor owners;
  };
  using Kind = std::tuple<std::size_t, at::DeviceType, at::DeviceIndex, at::ScalarType, std::int64_t>;
  std::map<Kind, RowOwners> row_owners_;
};

}  // namespace lockstep::optim
