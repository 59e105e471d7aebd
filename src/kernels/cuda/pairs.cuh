// Vectors of eight bfloat16 as four registers of two values each, the first one in the lower half. All lanes of a warp
// call those functions that exchange.
#pragma once
#include <cuda_bf16.h>

#include <cstdint>

namespace lockstep::kernels::cuda {

using Pairs = unsigned[4];
constexpr unsigned kAllLanes = 0xffffffffU;

__device__ inline __nv_bfloat162 values_of(unsigned pair) {
  return *reinterpret_cast<const __nv_bfloat162*>(&pair);
}
__device__ inline unsigned pair_of(__nv_bfloat162 values) {
  return *reinterpret_cast<const unsigned*>(&values);
}
__device__ inline unsigned packed(float first, float second) {
  return pair_of(__floats2bfloat162_rn(first, second));
}

// The lower of two lanes gives its second one for the first one of the upper.
__device__ inline void exchange(unsigned& first, unsigned& second, int lane, int distance) {
  const bool upper = (lane & distance) != 0;
  const unsigned got = __shfl_xor_sync(kAllLanes, upper ? first : second, distance);
  first = upper ? got : first;
  second = upper ? second : got;
}
// Each of four lanes side by side has one pair of each of four vectors; afterwards the vector of its number.
__device__ inline void exchange(Pairs& pairs, int lane) {
  exchange(pairs[0], pairs[1], lane, 1);
  exchange(pairs[2], pairs[3], lane, 1);
  exchange(pairs[0], pairs[2], lane, 2);
  exchange(pairs[1], pairs[3], lane, 2);
}
// The bytes of four lanes side by side, for all of them.
__device__ inline unsigned word_of_four(unsigned byte, int lane) {
  unsigned word = byte << 8 * (lane % 4);
  word |= __shfl_xor_sync(kAllLanes, word, 1);
  return word | __shfl_xor_sync(kAllLanes, word, 2);
}
// The lower of two lanes gets the sum of both their lower values, the upper one that of the upper values.
__device__ inline float halved(float lower, float upper, int lane, int distance) {
  const bool is_upper = (lane & distance) != 0;
  const float got = __shfl_xor_sync(kAllLanes, is_upper ? lower : upper, distance);
  return (is_upper ? upper : lower) + got;
}

__device__ inline uint4 load_vector(const __nv_bfloat16* from) {
  return *reinterpret_cast<const uint4*>(from);
}
// At once: the compiler would make four stores of it.
__device__ inline void store_vector(__nv_bfloat16* to, const Pairs& pairs) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(pairs[0]), "r"(pairs[1]), "r"(pairs[2]),
               "r"(pairs[3])
               : "memory");
}

__device__ inline void add(Pairs& pairs, uint4 vector) {
  const Pairs more = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
  for (int j = 0; j < 4; ++j) pairs[j] = pair_of(__hadd2(values_of(pairs[j]), values_of(more[j])));
}
__device__ inline void add_to(float (&totals)[8], const Pairs& pairs) {
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    totals[2 * j] += __uint_as_float(pairs[j] << 16);
    totals[2 * j + 1] += __uint_as_float(pairs[j] & 0xffff0000U);
  }
}

// A ReLU, which NaN passes. Returns a bit for each value: whether it passed.
__device__ inline unsigned keep_positive(Pairs& pairs) {
  const __nv_bfloat162 zero = values_of(0);
  unsigned bits = 0;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const unsigned passes = __hgtu2_mask(values_of(pairs[j]), zero);
    pairs[j] &= passes;
    bits |= passes & (0x00020001U << (2 * j));
  }
  return (bits | bits >> 16) & 0xffU;
}
// Values without such a bit become 0.
__device__ inline void keep_passed(Pairs& pairs, unsigned bits) {
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    // The two bits become the signs of two bytes, and those all of two values.
    unsigned mask = bits << (7 - 2 * j) | bits << (14 - 2 * j);
    asm("prmt.b32 %0, %0, 0, 0x9988;" : "+r"(mask));
    pairs[j] &= mask;
  }
}

}  // namespace lockstep::kernels::cuda
