#pragma once
#include <vector>

#include "filler.h"

namespace lockstep::data {

// Memory of batches that is used again once nobody holds their tensors: fresh memory costs a page fault for every 4
// KiB, which for large pictures takes as long as decoding a tenth of them.
class BatchMemory {
 public:
  // Keeps the memory of so many batches.
  explicit BatchMemory(std::size_t limit) : limit_(limit) {}

  // Tensors for `count` samples. Those for pinned memory are left to libtorch, which keeps such memory itself and knows
  // when a copy from it has ended.
  BatchTensors take(const Filler& filler, std::int64_t count, bool pinned);

 private:
  const std::size_t limit_;
  std::vector<BatchTensors> known_;
};

}  // namespace lockstep::data
