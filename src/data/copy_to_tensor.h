#pragma once
#include <algorithm>
#include <span>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

namespace lockstep::data {

template <typename Value>
at::Tensor copy_to_tensor(std::span<const Value> values, at::IntArrayRef sizes) {
  at::Tensor tensor = at::empty(sizes, c10::CppTypeToScalarType<Value>::value);
  std::copy(values.begin(), values.end(), tensor.mutable_data_ptr<Value>());
  return tensor;
}

}  // namespace lockstep::data
