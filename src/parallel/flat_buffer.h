#pragma once
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace lockstep::parallel {

// A buffer for the elements of all `tensors`, of the given type and on their device, and a view into it for each of
// them, laid out as the tensor is: a channels-last one is copied as it lies.
std::pair<at::Tensor, std::vector<at::Tensor>> flat_buffer(const std::vector<at::Tensor>& tensors, at::ScalarType type);

}  // namespace lockstep::parallel
