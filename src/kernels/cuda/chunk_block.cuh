// What the kernels have in common whose blocks divide a batch and tell each other their sums: where a block stands, and
// its shared memory.
#pragma once
#include "channel_sums.cuh"
#include "exchange.cuh"

namespace lockstep::kernels::cuda {

// kDepth: stages on their way at a time.
template <typename T, int kDepth>
class ChunkBlock {
 protected:
  static constexpr int kChannels = ThreadPlace<T>::kChannels;

  __device__ ChunkBlock(const Together& together, uint4* shared)
      : exchange_(together),
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
  // Adds up term(split, told, told by split 0), a pair, over what all splits of the chunk tell of each channel. The
  // result is as that of sum_over_groups(). Each thread asks for the channel of its number, or of its number less a
  // multiple of kChannels.
  template <typename Term>
  __device__ Pair sum_of_told(const Term& term) const {
    constexpr int kGroups = kThreads / kChannels;
    constexpr int kAsked = 6;  // splits at a time
    const int channel = own_channel();
    Pair sum{0, 0};
    for (int first = place_.thread / kChannels; first < batch_.splits; first += kAsked * kGroups) {
      int splits[kAsked + 1];
#pragma unroll
      for (int i = 0; i < kAsked; ++i) splits[i] = first + i * kGroups < batch_.splits ? first + i * kGroups : -1;
      splits[kAsked] = 0;
      if (channel >= batch_.channels) break;
      Told told[kAsked + 1];
      exchange_.ask(told, splits, channel);
#pragma unroll
      for (int i = 0; i < kAsked; ++i) {
        if (splits[i] < 0) continue;
        const Pair one = term(splits[i], told[i], told[kAsked]);
        sum.first += one.first;
        sum.second += one.second;
      }
    }
    return sum_over_groups<T>(sums_, sum);
  }
  // At the end.
  __device__ void leave() const {
    if (batch_.splits > 1 && place_.thread == 0) exchange_.leave();
  }
  // What the first kChannels threads left in array number `array`, for the channels of this thread's vector.
  __device__ void take_coefficients(float (&to)[kWidth<T>], int array) const {
#pragma unroll
    for (int e = 0; e < kWidth<T>; ++e) {
      to[e] = coefficients_[array * kChannels + place_.thread % kVectors * kWidth<T> + e];
    }
  }

  const Exchange exchange_;
  const Division& batch_;
  const ThreadPlace<T> place_;
  const int count_;  // stages of this block
  const Slots<kDepth> slots_;
  Pair* const sums_;           // between the passes
  float* const coefficients_;  // behind what sum_over_groups uses of them
  uint4* const rest_;          // of the shared memory
};

}  // namespace lockstep::kernels::cuda
