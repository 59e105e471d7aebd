#pragma once
#include <span>
#include <string>
#include <string_view>

#include <lockstep/data/tensor_file.h>

namespace lockstep::checkpoint {

// Throws UsageError for tensors that no file can hold: a name twice or not UTF-8, or bytes that do not fit the shape.
// `kind` is "safetensors" or "PyTorch".
void check_tensors(std::span<const data::TensorBytes> tensors, std::string_view kind);

// The text as JSON writes it. Throws as above when it is not UTF-8.
std::string json_text(std::string_view text, std::string_view kind);

}  // namespace lockstep::checkpoint
