// How the blocks of one chunk wait for each other.
#pragma once
#include "plan.h"

namespace lockstep::kernels::cuda {

// Until all `blocks` of the chunk are here. What they wrote before, all of them can read after. `counter` is the
// chunk's own: its upper bit changes with each meeting and its other bits end as they began, so it is never reset, and
// meetings of different sizes can follow each other. As the grid's barrier of cooperative groups.
__device__ inline void meet_by_counter(unsigned* counter, bool first, int blocks) {
  constexpr unsigned kUpper = 0x80000000U;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    const unsigned before = atomicAdd(counter, first ? kUpper - static_cast<unsigned>(blocks - 1) : 1U);
    unsigned now = before;
    while (((before ^ now) & kUpper) == 0) {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(counter) : "memory");
    }
    __threadfence();
  }
  __syncthreads();
}

__device__ inline void meet_in_cluster() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  __threadfence();
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

__device__ inline void meet(Meeting meeting, unsigned* counter, bool first, int blocks) {
  switch (meeting) {
    case Meeting::kAlone:
      __syncthreads();
      break;
    case Meeting::kCluster:
      meet_in_cluster();
      break;
    case Meeting::kGrid:
      meet_by_counter(counter, first, blocks);
      break;
  }
}

}  // namespace lockstep::kernels::cuda
