// Tensors of floats or bfloat16 on the CPU, as kernels take them.
#pragma once
#include <type_traits>

#include <ATen/core/Tensor.h>

#include "bfloat16.h"

namespace lockstep::kernels {

// Calls body(Value()) with the type of a tensor's values: float or Bfloat16.
template <typename Body>
decltype(auto) with_values_of(const at::Tensor& tensor, Body body) {
  return tensor.scalar_type() == at::kFloat ? body(float()) : body(Bfloat16());
}

template <typename Value>
const Value* values_of(const at::Tensor& tensor) {
  return static_cast<const Value*>(tensor.const_data_ptr());
}
template <typename Value>
Value* mutable_values_of(const at::Tensor& tensor) {
  return static_cast<Value*>(tensor.mutable_data_ptr());
}

// Of an instruction set's kernels, those for such values.
template <typename Value, typename Level>
const auto& kernels_for(const Level& level) {
  if constexpr (std::is_same_v<Value, float>) {
    return level.floats;
  } else {
    return level.bfloats;
  }
}

}  // namespace lockstep::kernels
