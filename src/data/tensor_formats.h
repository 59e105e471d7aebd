// The formats of tensor_file.h over bytes in memory. `name` is for the errors. What they return views `content`.
#pragma once
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <lockstep/data/tensor_file.h>

namespace lockstep::data {

struct SafetensorsContent {
  std::span<const std::byte> header;  // with its length
  std::vector<TensorBytes> tensors;   // in the order of their bytes
  std::map<std::string, std::string> metadata;
};

SafetensorsContent parse_safetensors(std::span<const std::byte> content, const std::string& name);

TensorBytes parse_npy(std::span<const std::byte> content, const std::string& name);

}  // namespace lockstep::data
