#include "flat_buffer.h"

#include <ATen/ops/empty.h>

namespace lockstep::parallel {

at::Tensor view_in(const at::Tensor& buffer, std::int64_t offset, const at::Tensor& tensor) {
  const at::Tensor part = buffer.narrow(0, offset, tensor.numel());
  return tensor.is_non_overlapping_and_dense() ? part.as_strided(tensor.sizes(), tensor.strides())
                                               : part.view(tensor.sizes());
}

std::pair<at::Tensor, std::vector<at::Tensor>> flat_buffer(const std::vector<at::Tensor>& tensors,
                                                           at::ScalarType type) {
  std::int64_t elements = 0;
  for (const at::Tensor& tensor : tensors) elements += tensor.numel();
  at::Tensor buffer = at::empty({elements}, tensors.front().options().dtype(type).requires_grad(false));
  std::vector<at::Tensor> views;
  std::int64_t offset = 0;
  for (const at::Tensor& tensor : tensors) {
    views.push_back(view_in(buffer, offset, tensor));
    offset += tensor.numel();
  }
  return {std::move(buffer), std::move(views)};
}

}  // namespace lockstep::parallel
