#include <lockstep/parallel/sync.h>

#include <map>
#include <tuple>

#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include "same_module.h"

namespace lockstep {
namespace {

// From this size on a tensor travels alone, where it lies: copying it would cost more than a call saves.
constexpr std::int64_t kLargeBytes = 1 << 20;
constexpr std::int64_t kPacketBytes = 16 << 20;

std::int64_t bytes_of(const at::Tensor& tensor) {
  return tensor.numel() * tensor.element_size();
}

// Elements in the order in which they lie in memory.
at::Tensor flat(const at::Tensor& tensor) {
  return tensor.as_strided({tensor.numel()}, {1});
}

void move_packet(const std::vector<at::Tensor>& tensors, const auto& move) {
  if (tensors.size() == 1) return move(tensors.front());
  std::vector<at::Tensor> parts;
  for (const at::Tensor& tensor : tensors) parts.push_back(flat(tensor));
  const at::Tensor packet = at::cat(parts);
  move(packet);
  std::int64_t offset = 0;
  for (const at::Tensor& part : parts) {
    part.copy_(packet.narrow(0, offset, part.numel()));
    offset += part.numel();
  }
}

// Calls `move` for each tensor or for several of one type and device together, in an order that is the same on every
// rank.
void move_all(std::span<const at::Tensor> tensors, const auto& move) {
  const c10::NoGradGuard no_grad;
  using Kind = std::tuple<at::ScalarType, c10::DeviceType, c10::DeviceIndex>;
  std::map<Kind, std::vector<at::Tensor>> packets;
  std::map<Kind, std::int64_t> sizes;
  for (const at::Tensor& given : tensors) {
    const at::Tensor tensor = given.detach();
    if (tensor.numel() == 0) continue;
    if (bytes_of(tensor) >= kLargeBytes || !tensor.is_non_overlapping_and_dense()) {
      move(tensor);
      continue;
    }
    const Kind kind{tensor.scalar_type(), tensor.device().type(), tensor.device().index()};
    packets[kind].push_back(tensor);
    if ((sizes[kind] += bytes_of(tensor)) >= kPacketBytes) {
      move_packet(packets[kind], move);
      packets[kind].clear();
      sizes[kind] = 0;
    }
  }
  for (const auto& [kind, packet] : packets) {
    if (!packet.empty()) move_packet(packet, move);
  }
}

}  // namespace

void broadcast_tensors(std::span<const at::Tensor> tensors, const Group& group, int root) {
  if (group.size() == 1) return;
  move_all(tensors, [&](const at::Tensor& tensor) { group.broadcast(tensor, root); });
}

void all_reduce_tensors(std::span<const at::Tensor> tensors, const Group& group, Reduce op) {
  if (group.size() == 1) return;
  move_all(tensors, [&](const at::Tensor& tensor) { group.all_reduce(tensor, op); });
}

void sync_parameters(const ModuleState& state, const Group& group, int root) {
  parallel::require_same_module(state, group);
  std::vector<at::Tensor> tensors;
  for (const auto* list : {&state.parameters, &state.buffers}) {
    for (const NamedTensor& named : *list) tensors.push_back(named.tensor);
  }
  broadcast_tensors(tensors, group, root);
}

void sync_gradients(const ModuleState& state, const Group& group, Reduce op) {
  std::vector<at::Tensor> parameters;
  for (const NamedTensor& named : state.parameters) {
    if (named.tensor.requires_grad()) parameters.push_back(named.tensor);
  }
  const at::Tensor has_gradient = at::zeros({static_cast<std::int64_t>(parameters.size())}, at::kInt);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].grad().defined()) has_gradient[static_cast<std::int64_t>(i)] = 1;
  }
  group.all_reduce(has_gradient, Reduce::kMax);
  std::vector<at::Tensor> gradients;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (has_gradient[static_cast<std::int64_t>(i)].item<int>() == 0) continue;
    at::Tensor& gradient = parameters[i].mutable_grad();
    if (!gradient.defined()) gradient = at::zeros_like(parameters[i]);
    gradients.push_back(gradient);
  }
  all_reduce_tensors(gradients, group, op);
}

}  // namespace lockstep
