// What the threads that computed the results of 64 channels know of their values: for who normalizes them.
#pragma once
#include "kernels.h"
#include "pairs.cuh"

namespace lockstep::kernels::cuda {

// What a thread knows of the results of a channel.
struct Known {
  float first = 0, sum = 0, squares = 0;  // from the first one

  __device__ void add(float value) {
    const float away = value - first;
    sum += away;
    squares = fmaf(away, away, squares);
  }
  // With those of others, whose sums become such from the same first one.
  __device__ KnownValues among(int count, float their_first) const {
    const float number = static_cast<float>(count), mean = count > 0 ? sum / number : 0;
    const float away = (first - their_first) + mean;
    return {their_first, number * away, fmaf(number * away, away, fmaf(-mean, sum, squares)), number};
  }
};

// Of the values of a warp's threads with the same channel, and then of those of all groups: sums are means from then
// on.
__device__ inline KnownValues sum_of_quad(const Known& own, int count) {
  KnownValues sums = own.among(count, __shfl_sync(kAllLanes, own.first, static_cast<int>(threadIdx.x) % 32 & ~3));
#pragma unroll
  for (int distance = 1; distance < 4; distance *= 2) {
    sums.mean += __shfl_xor_sync(kAllLanes, sums.mean, distance);
    sums.squares += __shfl_xor_sync(kAllLanes, sums.squares, distance);
    sums.count += __shfl_xor_sync(kAllLanes, sums.count, distance);
  }
  sums.mean = sums.count > 0 ? sums.mean / sums.count : 0;
  sums.squares = fmaxf(fmaf(-sums.mean * sums.count, sums.mean, sums.squares), 0);
  return sums;
}
__device__ inline KnownValues sum_of_both(const KnownValues& one, const KnownValues& other) {
  const float away = ((other.first - one.first) + other.mean) - one.mean, count = one.count + other.count;
  if (count == 0) return one;
  const float mean = away * (other.count / count);
  return {one.first, one.mean + mean, one.squares + fmaf(away * mean, one.count, other.squares), count};
}

// Of all tiles of a block. A thread has results of two channels, as the tensor cores leave them; both groups of four
// warps put theirs into `found`, in shared memory, and meet() before one of them reads it.
template <typename Meet>
__device__ void write_known(KnownValues* to, const Known (&known)[2], int results, int group, KnownValues* found,
                            const Meet& meet) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32 % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const KnownValues of_group = sum_of_quad(known[half], results);
    if (lane % 4 == 0) found[group * kWindowChannels + warp * 16 + half * 8 + lane / 4] = of_group;
  }
  meet();
  const int channel = static_cast<int>(threadIdx.x);
  if (channel >= kWindowChannels) return;
  to[blockIdx.x * kWindowChannels + channel] = sum_of_both(found[channel], found[kWindowChannels + channel]);
}

}  // namespace lockstep::kernels::cuda
