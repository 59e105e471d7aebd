// Tensors on their way between Python and C++.
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

// For torch.load.
inline void write_tensors(const std::filesystem::path& path, const c10::IValue& value) {
  const std::vector<char> bytes = torch::pickle_save(value);
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace lockstep::test
