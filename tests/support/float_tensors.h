#pragma once
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include <lockstep/data/tensor_file.h>

namespace lockstep::test {

inline std::vector<float> floats_of(const data::TensorBytes& tensor) {
  std::vector<float> values(tensor.bytes.size() / sizeof(float));
  std::copy(tensor.bytes.begin(), tensor.bytes.end(), std::as_writable_bytes(std::span(values)).begin());
  return values;
}

inline data::TensorBytes float_tensor(const std::string& name, std::span<const float> values) {
  return {
      .name = name, .type = data::ElementType::kFloat32, .shape = {std::ssize(values)}, .bytes = std::as_bytes(values)};
}

}  // namespace lockstep::test
