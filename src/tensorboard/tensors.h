// From tensors to what summaries are made of; pixels.h has images.
#pragma once
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <lockstep/tensorboard/tensor_options.h>

#include "summaries.h"

namespace lockstep::tensorboard {

// "Float[3, 32, 32]", for errors.
std::string describe(const at::Tensor& tensor);

// Throws UsageError for an undefined tensor, and for one without elements.
void require_elements(const at::Tensor& tensor, const std::string& what);

// Without gradient, in the CPU's memory.
at::Tensor on_cpu(const at::Tensor& tensor);

// The same as one row of numbers of type `type`, without gaps. Complex numbers are a UsageError.
at::Tensor flat(const at::Tensor& tensor, at::ScalarType type, const std::string& what);

// The numbers of such a row.
template <typename Number>
std::span<const Number> numbers_of(const at::Tensor& row) {
  return {row.const_data_ptr<Number>(), static_cast<std::size_t>(row.numel())};
}

// All numbers of a tensor.
template <typename Number>
std::vector<Number> values_of(const at::Tensor& tensor, const std::string& what) {
  const at::Tensor row = flat(tensor, c10::CppTypeToScalarType<Number>::value, what);
  const std::span<const Number> numbers = numbers_of<Number>(row);
  return {numbers.begin(), numbers.end()};
}

// Frames x channels of 16 bits. Throws UsageError for a shape that is no sound.
at::Tensor to_samples(const at::Tensor& sound);

// Throws UsageError for another shape than boxes x 4.
std::vector<BoxEdges> to_boxes(const at::Tensor& boxes);

// Throws UsageError for shapes that do not agree.
Mesh to_mesh(const at::Tensor& vertices, const MeshOptions& options);

}  // namespace lockstep::tensorboard
