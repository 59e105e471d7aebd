// How the blocks of a kernel tell each other what they found. What a block tells carries the number of the kernel's
// run: who needs it asks until it is there, and nobody else has to wait. All blocks must run at the same time.
#pragma once
#include "launch.h"

namespace lockstep::kernels::cuda {

// Written and read as one, so that what has the run's number is whole.
struct alignas(16) Told {
  float values[3];
  unsigned run;
};
static_assert(sizeof(Told) == kToldBytes);

__device__ inline void store_whole(Told* to, const Told& told) {
  const auto& halves = reinterpret_cast<const std::uint64_t(&)[2]>(told);
  asm volatile("{ .reg .b128 whole; mov.b128 whole, {%1, %2}; st.relaxed.gpu.global.b128 [%0], whole; }" ::"l"(to),
               "l"(halves[0]), "l"(halves[1])
               : "memory");
}
__device__ inline Told load_whole(const Told* from) {
  Told told;
  auto& halves = reinterpret_cast<std::uint64_t(&)[2]>(told);
  asm volatile("{ .reg .b128 whole; ld.relaxed.gpu.global.b128 whole, [%2]; mov.b128 {%0, %1}, whole; }"
               : "=l"(halves[0]), "=l"(halves[1])
               : "l"(from)
               : "memory");
  return told;
}

// What the blocks of one run tell each other of each channel.
class Exchange {
 public:
  // Every thread of every block makes one.
  __device__ explicit Exchange(const Together& together)
      : together_(together), run_(together.batch.splits > 1 ? __ldcg(&together.place->last_run) + 1 : 0) {}

  __device__ void tell(int split, int channel, float first, float second, float third = 0) const {
    store_whole(at(split, channel), {{first, second, third}, run_});
  }

  // What the given splits tell of a channel, when all have told it. Where a split's number is negative nothing is
  // asked.
  template <int kCount>
  __device__ void ask(Told (&told)[kCount], const int (&splits)[kCount], int channel) const {
    for (bool all = false; !all;) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        if (splits[i] >= 0) told[i] = load_whole(at(splits[i], channel));
      }
      all = true;
#pragma unroll
      for (int i = 0; i < kCount; ++i) all &= splits[i] < 0 || told[i].run == run_;
    }
  }

  // One thread of each block says that the block needs the run's number no more. The last one ends the run.
  __device__ void leave() const {
    ExchangePlace& place = *together_.place;
    if (atomicAdd(&place.left, 1U) + 1 != gridDim.x) return;
    place.left = 0;
    place.last_run = run_;
  }

 private:
  __device__ Told* at(int split, int channel) const {
    return reinterpret_cast<Told*>(together_.place + 1) + static_cast<std::int64_t>(split) * together_.batch.channels +
           channel;
  }

  const Together& together_;
  const unsigned run_;
};

}  // namespace lockstep::kernels::cuda
