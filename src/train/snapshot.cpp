#include "snapshot.h"

#include <optional>

#include <ATen/ops/empty.h>

#include <lockstep/data/tensor_bytes.h>
#include <lockstep/gpu/work_stream.h>

namespace lockstep::train {

Snapshot::Tensors copy_to_cpu(const Snapshot::Tensors& tensors) {
  Snapshot::Tensors copies;
  std::optional<at::Device> device;
  for (const auto& [name, tensor] : tensors) {
    const bool on_gpu = tensor.is_cuda();
    at::Tensor copy = at::empty(tensor.sizes(), at::TensorOptions(tensor.scalar_type()).pinned_memory(on_gpu));
    copy.copy_(tensor.detach(), /*non_blocking=*/on_gpu);
    if (on_gpu) device = tensor.device();
    copies.emplace(name, std::move(copy));
  }
  if (device) gpu::finish(*device);
  return copies;
}

std::vector<data::TensorBytes> bytes_of(const Snapshot::Tensors& tensors) {
  std::vector<data::TensorBytes> bytes;
  for (const auto& [name, tensor] : tensors) bytes.push_back(data::to_bytes(name, tensor));
  return bytes;
}

}  // namespace lockstep::train
