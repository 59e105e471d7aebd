// Two bfloat16 in a register, the first one in the lower half.
#pragma once
#include <cuda_bf16.h>

#include <cstdint>

namespace lockstep::kernels::cuda {

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

__device__ inline unsigned pair_at(const __nv_bfloat16* from) {
  return *reinterpret_cast<const unsigned*>(from);
}
__device__ inline unsigned sum_of(unsigned first, unsigned second) {
  return pair_of(__hadd2(values_of(first), values_of(second)));
}

// A ReLU, which NaN passes. Of a word for four blocks of eight values a thread has one pair in each block; whether it
// passed is put into `bits`, for word_of_pairs().
__device__ inline unsigned keep_positive(unsigned pair, int block, unsigned (&bits)[2]) {
  const unsigned passes = __hgtu2_mask(values_of(pair), values_of(0));
  bits[block / 2] |= passes & (0x00020001U << (block % 2 * 8));
  return pair & passes;
}
__device__ inline unsigned word_of_pairs(const unsigned (&bits)[2], int quarter) {
  const unsigned lower = (bits[0] | bits[0] >> 16) & 0x0303U, upper = (bits[1] | bits[1] >> 16) & 0x0303U;
  return (lower | upper << 16) << 2 * quarter;
}
// All bits of those values that may pass: of the block's pair in such a word, moved to the right by two bits for each
// quarter.
__device__ inline unsigned passed_mask(unsigned word, int block) {
  // The two bits become the signs of two bytes, and those all of two values.
  unsigned mask;
  asm("prmt.b32 %0, %1, %2, %3;"
      : "=r"(mask)
      : "r"(word << 7), "r"(word << 6), "r"(0xcc88U + 0x1111U * static_cast<unsigned>(block)));
  return mask;
}

}  // namespace lockstep::kernels::cuda
