// Tensors of several devices and types, for functions that take those of one.
#pragma once
#include <cstddef>
#include <vector>

#include <ATen/core/Tensor.h>

namespace lockstep::optim {

// The indices of those that a _foreach_ function takes in a launch, or few; in the order of first appearance.
inline std::vector<std::vector<std::size_t>> by_device_and_type(const std::vector<at::Tensor>& tensors) {
  std::vector<std::vector<std::size_t>> batches;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::vector<std::size_t>* batch = nullptr;
    for (auto& each : batches) {
      const at::Tensor& first = tensors[each.front()];
      if (first.device() == tensors[i].device() && first.scalar_type() == tensors[i].scalar_type()) batch = &each;
    }
    if (batch == nullptr) batch = &batches.emplace_back();
    batch->push_back(i);
  }
  return batches;
}

inline std::vector<at::Tensor> pick(const std::vector<at::Tensor>& tensors, const std::vector<std::size_t>& indices) {
  std::vector<at::Tensor> picked;
  picked.reserve(indices.size());
  for (const std::size_t i : indices) picked.push_back(tensors[i]);
  return picked;
}

// `tensor` on a device. The host waits only where it could read what has not arrived.
inline at::Tensor moved(const at::Tensor& tensor, at::Device device, at::ScalarType type) {
  return tensor.to(device, type, /*non_blocking=*/!device.is_cpu());
}

}  // namespace lockstep::optim
