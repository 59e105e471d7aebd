#include <functional>
#include <memory>
#include <numeric>

#include <ATen/ops/from_blob.h>

#include <lockstep/base/errors.h>
#include <lockstep/comm/group.h>

#include "local/shared_memory.h"

namespace lockstep {
namespace {

using comm::local::SharedMemory;

// Null where it fails.
std::shared_ptr<SharedMemory> attempt(const std::function<SharedMemory()>& get) {
  try {
    return std::make_shared<SharedMemory>(get());
  } catch (const RuntimeError&) {
    return nullptr;
  }
}

at::Tensor tensor_in(const std::shared_ptr<SharedMemory>& memory, at::IntArrayRef shape, at::ScalarType type) {
  return at::from_blob(
      memory->data(), shape, [memory](void*) {}, at::TensorOptions(type));
}

}  // namespace

std::vector<at::Tensor> Group::share_memory(at::IntArrayRef shape, at::ScalarType type) const {
  const std::int64_t count = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  const std::size_t bytes = static_cast<std::size_t>(count) * c10::elementSize(type);
  const auto own = attempt([&] { return SharedMemory::make(bytes); });
  if (own) {
    tensor_in(own, shape, type).zero_();  // its pages come from memory near to this rank
    own->use_large_pages();
  }
  const std::vector<std::string> addresses = all_gather_text(own ? own->address() : "");
  std::vector<at::Tensor> result;
  for (int other = 0; other < size(); ++other) {
    const std::string& address = addresses[static_cast<std::size_t>(other)];
    const auto memory = other == rank() ? own : attempt([&] { return SharedMemory::open(address, bytes); });
    if (memory) result.push_back(tensor_in(memory, shape, type));
  }
  const std::int64_t has_all = std::ssize(result) == size() ? 1 : 0;
  if (all_reduce_value(has_all, Reduce::kMin) == 0) return {};
  own->close_door();
  return result;
}

}  // namespace lockstep
