// What the kernels have in common whose blocks divide a batch and meet: where a block stands, and its shared memory.
#pragma once
#include "channel_sums.cuh"
#include "launch.h"
#include "meeting.cuh"

namespace lockstep::kernels::cuda {

// kDepth: stages on their way at a time.
template <typename T, int kDepth>
class ChunkBlock {
 protected:
  static constexpr int kChannels = ThreadPlace<T>::kChannels;

  __device__ ChunkBlock(const Together& together, uint4* shared)
      : together_(together),
        batch_(together.batch),
        place_(together.batch),
        count_(place_.part.end - place_.part.begin),
        slots_{together.kept},
        sums_(reinterpret_cast<Pair*>(shared)),
        coefficients_(reinterpret_cast<float*>(shared + kSumBytes / 2 / kVectorBytes)),
        rest_(shared + kSumBytes / kVectorBytes) {}

  // The stage of a number in this block.
  __device__ int stage(int number) const { return place_.part.begin + number; }
  // Of the thread as one of the first kChannels. It may be behind the last one.
  __device__ int own_channel() const { return place_.chunk * kChannels + place_.thread % kChannels; }
  __device__ Partials partials() const { return {together_.partials, batch_.channels, batch_.splits}; }
  __device__ void meet_others() const {
    meet(together_.meeting, together_.counters + place_.chunk, place_.split == 0, batch_.splits);
  }
  // What the first kChannels threads left in array number `array`, for the channels of this thread's vector.
  __device__ void take_coefficients(float (&to)[kWidth<T>], int array) const {
#pragma unroll
    for (int e = 0; e < kWidth<T>; ++e) {
      to[e] = coefficients_[array * kChannels + place_.thread % kVectors * kWidth<T> + e];
    }
  }

  const Together& together_;
  const Division& batch_;
  const ThreadPlace<T> place_;
  const int count_;  // stages of this block
  const Slots<kDepth> slots_;
  Pair* const sums_;           // between the passes
  float* const coefficients_;  // behind what sum_over_splits uses of them
  uint4* const rest_;          // of the shared memory
};

}  // namespace lockstep::kernels::cuda
