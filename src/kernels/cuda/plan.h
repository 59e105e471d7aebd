// How many blocks share a batch, and what they keep in shared memory.
#pragma once
#include "chunk.h"

namespace lockstep::kernels::cuda {

// What the plan depends on, of a GPU.
struct Device {
  int multiprocessors = 0;
  int shared_bytes = 0;       // the most that a block can have
  bool early_starts = false;  // of kernels, before the one before them has ended: from compute capability 9.0 on
  bool products = false;      // of compute capability 9.0 itself
};

// What a kernel puts into shared memory.
struct SharedNeeds {
  int depth = 0;        // stages on their way at a time
  int stage_bytes = 0;  // of all tensors that stay
  int other_bytes = 0;
};

struct Plan {
  Division batch;
  int kept;  // stages of a block that stay in shared memory, beside the last `depth`
  int shared_bytes;

  int blocks() const { return batch.chunks * batch.splits; }
};

Division division_of(const Rows& shape);                  // not split
int splits_for(const Rows& shape, const Device& device);  // those of any plan
Plan plan_for(const Rows& shape, const Device& device, const SharedNeeds& needs);

// Bytes that the blocks of any plan tell each other: of each block so many of a channel.
constexpr std::int64_t kToldBytes = 16;
std::int64_t told_bytes(const Device& device);

// Floats for sums of each channel by up to `blocks` blocks of each multiprocessor.
std::int64_t partial_floats(const Rows& shape, const Device& device, int blocks);

}  // namespace lockstep::kernels::cuda
