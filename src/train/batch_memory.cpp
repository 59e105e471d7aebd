#include "batch_memory.h"

#include <algorithm>

namespace lockstep::train {
namespace {

bool fits(const data::Batch& mine, const data::Batch& other) {
  const auto same = [](const at::Tensor& a, const at::Tensor& b) {
    return a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type();
  };
  return same(mine.data, other.data) && same(mine.target, other.target);
}

}  // namespace

bool BatchMemory::is_smaller_than(std::span<const data::Batch> batches) const {
  const auto samples = [](std::span<const data::Batch> list) {
    std::int64_t count = 0;
    for (const data::Batch& batch : list) count += batch.data.size(0);
    return count;
  };
  return !batches_.empty() && samples(batches_) < samples(batches);
}

bool BatchMemory::take(std::span<const data::Batch> batches) {
  if (batches_.empty()) {
    for (const data::Batch& batch : batches) batches_.push_back({batch.data.clone(), batch.target.clone(), {}});
    return true;
  }
  if (!std::equal(batches_.begin(), batches_.end(), batches.begin(), batches.end(), fits)) return false;
  for (std::size_t i = 0; i < batches_.size(); ++i) {
    batches_[i].data.copy_(batches[i].data, /*non_blocking=*/true);
    batches_[i].target.copy_(batches[i].target, /*non_blocking=*/true);
  }
  return true;
}

}  // namespace lockstep::train
