// Sums that many blocks of threads have parts of, in the registers of a product of the tensor cores, added up by a
// second kernel: always in the same order.
#pragma once
#include <cuda_bf16.h>

#include "launch.cuh"

namespace lockstep::kernels::cuda {

struct PartialSums {
  const float* partials = nullptr;  // [split][pair][register][thread]; of 128 threads
  int pairs = 0, splits = 0;
  int size = 0;  // for Results
  __nv_bfloat16* sums = nullptr;
};

// What a thread has in a register of a product with 64 rows.
struct RegisterPlace {
  int row, column;
  __device__ RegisterPlace(int number, int thread)
      : row(thread / 32 * 16 + number / 2 % 2 * 8 + thread % 32 / 4),
        column(number / 4 * 8 + thread % 4 * 2 + number % 2) {}
};

constexpr int kPartThreads = 128, kAdders = 4;

// A block of threads has the values of one register. Threads with the same part of them each add up some of the splits.
// Results has kRegisters of a part, and index(work, pair, place): where a sum goes, or -1.
template <typename Results>
__global__ void __launch_bounds__(kPartThreads, 1) add_kernel(const __grid_constant__ PartialSums work) {
  constexpr int kRegisters = Results::kRegisters, kPart = kPartThreads * kRegisters;
  constexpr int kAtOnce = 9, kVector = 4, kVectorsOfBlock = kPartThreads / kVector;
  static_assert(kAdders * kVectorsOfBlock == kPartThreads);
  extern __shared__ float4 added[];
  wait_for_earlier_work();
  const int number = static_cast<int>(blockIdx.x) % kRegisters, pair = static_cast<int>(blockIdx.x) / kRegisters;
  const int thread = static_cast<int>(threadIdx.x), vector = thread % kVectorsOfBlock, adder = thread / kVectorsOfBlock;
  const auto* const from = reinterpret_cast<const float4*>(work.partials + static_cast<std::int64_t>(pair) * kPart +
                                                           number * kPartThreads + vector * kVector);
  const std::int64_t step = static_cast<std::int64_t>(work.pairs) * kPart / kVector;
  float4 sum{};
  for (int first = adder; first < work.splits; first += kAdders * kAtOnce) {
    float4 parts[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int split = first + i * kAdders;
      parts[i] = split < work.splits ? from[split * step] : float4{};
    }
#pragma unroll
    for (const float4& part : parts) {
      sum = {sum.x + part.x, sum.y + part.y, sum.z + part.z, sum.w + part.w};
    }
  }
  added[thread] = sum;
  __syncthreads();
  float total = 0;
#pragma unroll
  for (int i = 0; i < kAdders; ++i) total += reinterpret_cast<const float*>(added + i * kVectorsOfBlock)[thread];
  const int index = Results::index(work, pair, RegisterPlace(number, thread));
  if (index >= 0) work.sums[index] = __float2bfloat16(total);
}

template <typename Results>
cudaError_t add_up(const PartialSums& work, const Launch& launch) {
  constexpr int kSharedBytes = kPartThreads * static_cast<int>(sizeof(float4));
  return start(add_kernel<Results>,
               {static_cast<std::int64_t>(work.pairs) * Results::kRegisters, kPartThreads, kSharedBytes}, launch, work);
}

}  // namespace lockstep::kernels::cuda
