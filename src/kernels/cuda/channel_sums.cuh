// Sums over the threads of a block, always in the same order.
#pragma once
#include "thread_place.cuh"

namespace lockstep::kernels::cuda {

struct Pair {
  float first, second;
};

// The shared memory that the functions below and their callers use between the passes over the rows.
constexpr int kSumBytes = kWarps * kVectors * 8 * static_cast<int>(sizeof(Pair));

// Adds up what each thread has for the channels of its vector. The result is for threads below kChannels, each of which
// has the channel of its number within the chunk; the others get nothing of use.
template <typename T>
__device__ Pair sum_over_rows(Pair* shared, const float (&first)[kWidth<T>], const float (&second)[kWidth<T>]) {
  constexpr int kChannels = ThreadPlace<T>::kChannels;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
#pragma unroll
  for (int e = 0; e < kWidth<T>; ++e) {
    Pair sum{first[e], second[e]};
#pragma unroll
    for (int distance = kVectors; distance < 32; distance *= 2) {  // lanes with the same vector of other rows
      sum.first += __shfl_xor_sync(0xffffffffU, sum.first, distance);
      sum.second += __shfl_xor_sync(0xffffffffU, sum.second, distance);
    }
    if (lane < kVectors) shared[warp * kChannels + lane * kWidth<T> + e] = sum;
  }
  __syncthreads();
  Pair total{0, 0};
  if (thread < kChannels) {
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      const Pair sum = shared[w * kChannels + thread];
      total.first += sum.first;
      total.second += sum.second;
    }
  }
  return total;
}

// Adds up what the threads have for channel number threadIdx.x % kChannels: for threads below kChannels as above. Who
// used the shared memory before must be done with it.
template <typename T>
__device__ Pair sum_over_groups(Pair* shared, Pair own) {
  constexpr int kChannels = ThreadPlace<T>::kChannels, kGroups = kThreads / kChannels;
  const int thread = static_cast<int>(threadIdx.x);
  shared[thread] = own;
  __syncthreads();
  Pair total{0, 0};
  if (thread < kChannels) {
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      total.first += shared[group * kChannels + thread].first;
      total.second += shared[group * kChannels + thread].second;
    }
  }
  return total;
}

}  // namespace lockstep::kernels::cuda
