// Copies from the device's memory into a block's shared memory that run beside the thread that starts them.
#pragma once
#include <cstdint>

namespace lockstep::kernels::cuda {

// 16 bytes, both addresses multiples of 16. Past the first-level cache.
__device__ inline void copy_async(uint4* to, const void* from) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
}

// Ends a group: the copies that this thread has started since the last one, if any.
__device__ inline void end_group() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Until all groups of this thread but the last `kPending` have arrived. Only this thread sees them then.
template <int kPending>
__device__ inline void wait_for_groups() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

}  // namespace lockstep::kernels::cuda
