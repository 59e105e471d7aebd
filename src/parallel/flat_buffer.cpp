#include "flat_buffer.h"

#include <ATen/ops/empty.h>

namespace lockstep::parallel {

std::pair<at::Tensor, std::vector<at::Tensor>> flat_buffer(const std::vector<at::Tensor>& tensors,
                                                           at::ScalarType type) {
  std::int64_t elements = 0;
  for (const at::Tensor& tensor : tensors) elements += tensor.numel();
  at::Tensor buffer = at::empty({elements}, tensors.front().options().dtype(type).requires_grad(false));
  std::vector<at::Tensor> views;
  std::int64_t offset = 0;
  for (const at::Tensor& tensor : tensors) {
    const at::Tensor part = buffer.narrow(0, offset, tensor.numel());
    views.push_back(tensor.is_non_overlapping_and_dense() ? part.as_strided(tensor.sizes(), tensor.strides())
                                                          : part.view(tensor.sizes()));
    offset += tensor.numel();
  }
  return {std::move(buffer), std::move(views)};
}

}  // namespace lockstep::parallel
