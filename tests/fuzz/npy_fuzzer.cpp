#include <lockstep/base/errors.h>

#include "data/tensor_formats.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep::data;
  try {
    const TensorBytes tensor = parse_npy(std::as_bytes(std::span(data, size)), "input");
    if (tensor.bytes.size() > size || tensor_size(tensor.type, tensor.shape) != tensor.bytes.size()) __builtin_trap();
  } catch (const lockstep::UsageError&) {
    // What is wrong was said.
  }
  return 0;
}
