// Where groups of threads of a block meet: barriers by number, of which 0 is the block's own.
#pragma once

namespace lockstep::kernels::cuda {

// `threads` meet there; come_to() lets others go on without waiting for them.
__device__ inline void meet(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ inline void come_to(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

}  // namespace lockstep::kernels::cuda
