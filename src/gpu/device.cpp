#include <lockstep/gpu/device.h>

#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/cuda.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/gpus.h>

#include "driver.h"

namespace lockstep::gpu {

bool has_gpu() {
  if (list_gpus().gpus.empty()) return false;  // costs milliseconds; the plugin brings in libraries of a gigabyte
  try {
    driver();
  } catch (const UsageError&) {
    return false;
  }
  return torch::cuda::device_count() > 0;
}

at::Device use_gpu(int local_rank) {
  driver();  // before libtorch is asked what there is
  const auto count = static_cast<int>(torch::cuda::device_count());
  if (count == 0) throw UsageError({.message = "there is no GPU", .next = "see lockstep info, or use --device cpu"});
  const at::Device device(at::kCUDA, static_cast<at::DeviceIndex>(local_rank % count));
  c10::impl::VirtualGuardImpl(at::kCUDA).setDevice(device);
  return device;
}

at::Device with_index(at::Device device) {
  if (device.is_cpu() || device.has_index()) return device;
  return c10::impl::VirtualGuardImpl(device.type()).getDevice();
}

}  // namespace lockstep::gpu
