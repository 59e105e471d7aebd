// Tensors that Python wrote and C++ reads.
#pragma once
#include <filesystem>
#include <fstream>
#include <vector>

#include <torch/csrc/api/include/torch/serialize.h>

namespace lockstep::test {

// What torch.save wrote: a dictionary.
inline c10::Dict<c10::IValue, c10::IValue> read_tensors(const std::filesystem::path& path) {
  std::vector<char> bytes(std::filesystem::file_size(path));
  std::ifstream(path, std::ios::binary).read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return torch::pickle_load(bytes).toGenericDict();
}

}  // namespace lockstep::test
