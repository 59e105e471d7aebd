#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace lockstep::parallel {

// The part of the flat `buffer` from `offset` on, as many elements as `tensor` has, laid out as it is.
at::Tensor view_in(const at::Tensor& buffer, std::int64_t offset, const at::Tensor& tensor);

// A buffer for the elements of all `tensors`, of the given type and on their device, and a view into it for each of
// them, laid out as the tensor is: a channels-last one is copied as it lies.
std::pair<at::Tensor, std::vector<at::Tensor>> flat_buffer(const std::vector<at::Tensor>& tensors, at::ScalarType type);

}  // namespace lockstep::parallel
