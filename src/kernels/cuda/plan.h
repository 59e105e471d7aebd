// How many blocks share a batch, how they meet, and what they keep in shared memory.
#pragma once
#include "chunk.h"

namespace lockstep::kernels::cuda {

// What the plan depends on, of a GPU.
struct Device {
  int multiprocessors = 0;
  int shared_bytes = 0;   // the most that a block can have
  bool clusters = false;  // from compute capability 9.0 on
  bool products = false;  // of compute capability 9.0 itself
};

// Which blocks have a chunk together. A cluster's blocks run at the same time by its nature; those of a whole grid only
// in a cooperative launch.
enum class Meeting { kAlone, kCluster, kGrid };

// What a kernel puts into shared memory.
struct SharedNeeds {
  int depth = 0;        // stages on their way at a time
  int stage_bytes = 0;  // of all tensors that stay
  int other_bytes = 0;
};

struct Plan {
  Division batch;
  Meeting meeting;
  int kept;  // stages of a block that stay in shared memory, beside the last `depth`
  int shared_bytes;

  int blocks() const { return batch.chunks * batch.splits; }
};

constexpr int kMostChunks = 256;  // that can be divided further
constexpr int kMostInCluster = 8;

Division division_of(const Rows& shape);                  // not split
int splits_for(const Rows& shape, const Device& device);  // those of any plan
Plan plan_for(const Rows& shape, const Device& device, const SharedNeeds& needs);

// Floats that the blocks of any plan tell each other, `arrays` of each channel.
std::int64_t partial_floats(const Rows& shape, const Device& device, int arrays);

}  // namespace lockstep::kernels::cuda
