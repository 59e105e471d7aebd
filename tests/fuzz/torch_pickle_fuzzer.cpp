// data.pkl of a PyTorch file. Each storage has the size that the pickle claims, up to a limit, so that tensors that
// reach out of theirs are found.
#include <cstdint>
#include <vector>

#include <lockstep/base/errors.h>

#include "checkpoint/torch_state.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep::checkpoint;
  constexpr std::uint64_t kMostBytes = 1 << 16;
  try {
    const lockstep::Pickle pickle = read_torch_pickle(std::as_bytes(std::span(data, size)), "input");
    for (const TorchTensor& tensor : find_state(pickle, "").tensors) {
      const std::size_t element = lockstep::data::element_size(tensor.type);
      if (tensor.bytes > kMostBytes || tensor.storage_elements > kMostBytes / element) continue;
      const std::vector<std::byte> storage(tensor.storage_elements * element, std::byte{1});
      for (const std::byte value : plain_tensor(tensor, storage, nullptr, "input").tensor.bytes) {
        if (value != std::byte{1}) __builtin_trap();
      }
    }
  } catch (const lockstep::UsageError&) {
    // What is wrong was said.
  }
  return 0;
}
