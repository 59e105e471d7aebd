#include <lockstep/base/errors.h>

#include "data/tensor_formats.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto content = std::as_bytes(std::span(data, size));
  try {
    std::size_t bytes = 0;
    for (const auto& tensor : lockstep::data::parse_safetensors(content, "input").tensors) {
      const auto* end = tensor.bytes.data() + tensor.bytes.size();
      if (tensor.bytes.data() < content.data() || end > content.data() + content.size()) __builtin_trap();
      bytes += tensor.bytes.size();
    }
    if (bytes > size) __builtin_trap();
  } catch (const lockstep::UsageError&) {
    // What is wrong was said.
  }
  return 0;
}
