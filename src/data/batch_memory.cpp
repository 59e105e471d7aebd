#include "batch_memory.h"

#include <algorithm>

namespace lockstep::data {
namespace {

// Whether no tensor but ours lies in this memory.
bool is_free(const at::Tensor& tensor) {
  return tensor.storage().use_count() == 1;
}

}  // namespace

BatchTensors BatchMemory::take(const Filler& filler, std::int64_t count, bool pinned) {
  if (pinned) return filler.allocate(count, pinned);
  auto found = std::find_if(known_.begin(), known_.end(), [&](const BatchTensors& batch) {
    return batch.data.size(0) == count && is_free(batch.data) && is_free(batch.target);
  });
  if (found == known_.end()) {
    // What a user keeps is not waited for.
    if (known_.size() == limit_) known_.erase(known_.begin());
    found = known_.insert(known_.end(), filler.allocate(count, pinned));
  }
  // Other tensors over the same memory: whatever is done to those, ours stay as they are.
  return {.data = found->data.detach(), .target = found->target.detach()};
}

}  // namespace lockstep::data
