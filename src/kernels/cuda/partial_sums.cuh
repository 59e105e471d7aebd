// Sums that many blocks of threads have parts of, in the registers of a product of the tensor cores, added up by a
// second kernel: always in the same order.
#pragma once
#include <cuda_bf16.h>

#include "launch.cuh"
#include "pairs.cuh"

namespace lockstep::kernels::cuda {

struct PartialSums {
  const float* partials = nullptr;  // [split][pair][register][thread]; of 128 threads
  int pairs = 0, splits = 0;
  int size = 0;  // for Results
  __nv_bfloat16* sums = nullptr;
};

// A block of threads has some registers of all threads: eight columns of 64 rows. Several of its threads add up a part
// of the splits each.
constexpr int kPartThreads = 128, kPartRegisters = 4, kPartRows = 64, kPartColumns = 8;
constexpr int kPartVectors = kPartRegisters * kPartThreads / 4, kMostAdders = 8, kAddedAtOnce = 6;

// Of the columns of a row, as the tensor cores leave them in registers.
__device__ inline float part_of_row(const float* part, int row, int column) {
  const int its_register = row / 8 % 2 * 2 + column % 2;
  return part[its_register * kPartThreads + row / 16 * 32 + row % 8 * 4 + column / 2];
}

// Results has kRegisters of a part, and index(work, pair, row, column): where the sums of eight columns begin, or -1.
template <typename Results>
__global__ void __launch_bounds__(kPartVectors* kMostAdders, 1) add_kernel(const __grid_constant__ PartialSums work) {
  constexpr int kParts = Results::kRegisters / kPartRegisters, kPart = kPartThreads * Results::kRegisters;
  static_assert(Results::kRegisters % kPartRegisters == 0);
  extern __shared__ float4 added[];
  wait_for_earlier_work();
  const int number = static_cast<int>(blockIdx.x) % kParts, pair = static_cast<int>(blockIdx.x) / kParts;
  const int thread = static_cast<int>(threadIdx.x), adders = static_cast<int>(blockDim.x) / kPartVectors;
  const auto* const from =
      reinterpret_cast<const float4*>(work.partials + std::int64_t{pair} * kPart) + number * kPartVectors;
  const std::int64_t step = std::int64_t{work.pairs} * kPart / 4;
  float4 sum{};
  for (int first = thread / kPartVectors; first < work.splits; first += adders * kAddedAtOnce) {
    float4 parts[kAddedAtOnce];
#pragma unroll
    for (int i = 0; i < kAddedAtOnce; ++i) {
      const int split = first + i * adders;
      parts[i] = split < work.splits ? from[split * step + thread % kPartVectors] : float4{};
    }
#pragma unroll
    for (const float4& part : parts) {
      sum = {sum.x + part.x, sum.y + part.y, sum.z + part.z, sum.w + part.w};
    }
  }
  added[thread] = sum;
  __syncthreads();
  const int index = thread < kPartRows ? Results::index(work, pair, thread, number * kPartColumns) : -1;
  if (index < 0) return;
  float totals[kPartColumns] = {};
  for (int i = 0; i < adders; ++i) {
    const auto* const part = reinterpret_cast<const float*>(added + i * kPartVectors);
#pragma unroll
    for (int column = 0; column < kPartColumns; ++column) totals[column] += part_of_row(part, thread, column);
  }
  *reinterpret_cast<uint4*>(work.sums + index) = {packed(totals[0], totals[1]), packed(totals[2], totals[3]),
                                                  packed(totals[4], totals[5]), packed(totals[6], totals[7])};
}

template <typename Results>
cudaError_t add_up(const PartialSums& work, const Launch& launch) {
  const int wanted = (work.splits + kAddedAtOnce - 1) / kAddedAtOnce;
  const int threads = (wanted < kMostAdders ? wanted : kMostAdders) * kPartVectors;
  return start(add_kernel<Results>,
               {std::int64_t{work.pairs} * (Results::kRegisters / kPartRegisters), threads,
                threads * static_cast<int>(sizeof(float4))},
               launch, work);
}

}  // namespace lockstep::kernels::cuda
