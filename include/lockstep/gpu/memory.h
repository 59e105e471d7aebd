// A GPU's memory, as libtorch's allocator sees it.
#pragma once
#include <cstdint>

#include <c10/core/Device.h>

namespace lockstep::gpu {

struct Memory {
  std::int64_t allocated = 0;  // by tensors that live
  std::int64_t peak = 0;       // the most of that since reset_peak_memory
  std::int64_t reserved = 0;   // by the allocator, in use or kept for later
  std::int64_t free = 0;       // of the device: neither reserved here nor used by other processes
  std::int64_t total = 0;      // of the device

  // What tensors could have in all.
  std::int64_t available() const { return free + reserved; }
};

Memory memory(at::Device device);
void reset_peak_memory(at::Device device);

// Gives back what the allocator keeps for later.
void release_unused_memory();

}  // namespace lockstep::gpu
