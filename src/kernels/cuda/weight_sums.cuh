// The gradients of a convolution's weights: sums over all places of the products of each output's gradient and each
// input that its window sees. A block of threads has 64 outputs, and adds up the products of its tiles in registers;
// what the blocks have is added in a second kernel.
#pragma once
#include "bulk_copy.cuh"
#include "launch.cuh"
#include "matrix_map.h"
#include "pairs.cuh"
#include "partial_sums.cuh"
#include "warpgroup.cuh"

namespace lockstep::kernels::cuda {

struct WeightSums {
  CUtensorMap x, gradient;
  Divider rows, columns;     // of tiles, of a picture
  Divider pairs, of_inputs;  // of 64 outputs and the inputs of a block; those of all inputs
  int tiles = 0, splits = 0;
  float* partials = nullptr;  // [block][group][register][thread]
};

// What a block works on: a pair, and every splits-th tile.
struct SumsPart {
  int split, output, input;  // the last two: where its channels begin
  __device__ SumsPart(const WeightSums& work, int inputs) {
    const Quotient by_pair = work.pairs(static_cast<int>(blockIdx.x)), by_output = work.of_inputs(by_pair.rest);
    split = by_pair.whole;
    output = by_output.whole * kWindowChannels;
    input = by_output.rest * inputs;
  }
};

// How such sums are taken. Its has, of a tile: kTileRows, kTileColumns, and kMargin, so many places more of the input
// on each side; of the input kInputRows, kInputColumns, kInputs, its channels, and kPlaceBytes. Of the work: kStages,
// the tiles in shared memory; kGroups of 128 threads; kOutputs of a product, which is one thread's registers times two;
// kMoreRegisters, which a thread that computes needs, if more than its part; and multiply(sums, gradient, input,
// group), which starts the products of a tile.
template <typename Its>
struct SumsPlan {
  static constexpr int kGroupThreads = 128;
  static constexpr int kComputing = Its::kGroups * kGroupThreads, kThreads = kComputing + kGroupThreads;
  static constexpr int kRegisters = Its::kOutputs / 2, kPartial = Its::kGroups * kRegisters * kGroupThreads;
  static constexpr int kGradientBytes = Its::kTileRows * Its::kTileColumns * kSwizzledBytes;
  static constexpr int kInputBytes = Its::kInputRows * Its::kInputColumns * Its::kPlaceBytes;
  static constexpr int kGradientChunks = kGradientBytes / kVectorBytes;
  static constexpr int kStageBytes = kGradientBytes + (kInputBytes + 1023) / 1024 * 1024;
  static constexpr int kStageChunks = kStageBytes / kVectorBytes;
  static_assert(kGradientBytes % 1024 == 0);

  struct Barriers {
    CopyBarrier filled[Its::kStages], used[Its::kStages];
  };
  static constexpr int kSharedBytes = Its::kStages * kStageBytes + static_cast<int>(sizeof(Barriers));

  // One thread.
  __device__ static void copy_tiles(const WeightSums& work, const SumsPart& part, uint4* stages, Barriers& barriers) {
    int number = 0;
    for (int tile = part.split; tile < work.tiles; tile += work.splits, ++number) {
      const int stage = number % Its::kStages;
      if (number >= Its::kStages) wait_for(&barriers.used[stage], (number / Its::kStages - 1) % 2);
      const Quotient by_column = work.columns(tile), by_row = work.rows(by_column.whole);
      const int picture = by_row.whole, row = by_row.rest * Its::kTileRows, column = by_column.rest * Its::kTileColumns;
      uint4* const to = stages + stage * kStageChunks;
      announce(&barriers.filled[stage], kGradientBytes + kInputBytes);
      load_tile(to, work.gradient, {picture, row, column, part.output}, &barriers.filled[stage]);
      load_tile(to + kGradientChunks, work.x, {picture, row - Its::kMargin, column - Its::kMargin, part.input},
                &barriers.filled[stage]);
    }
  }

  __device__ static void compute_tiles(const WeightSums& work, const SumsPart& part, int group, const uint4* stages,
                                       Barriers& barriers) {
    float sums[kRegisters];
#pragma unroll
    for (float& sum : sums) sum = 0;
    begin_products(sums);
    int number = 0, last = 0;
    for (int tile = part.split; tile < work.tiles; tile += work.splits, ++number) {
      const int stage = number % Its::kStages;
      const uint4* const gradient = stages + stage * kStageChunks;
      wait_for(&barriers.filled[stage], number / Its::kStages % 2);
      Its::multiply(sums, gradient, gradient + kGradientChunks, group);
      close_group_of_products();
      // While these are under way, those before them end.
      wait_for_products<1>();
      if (number > 0) arrive(&barriers.used[last]);
      last = stage;
    }
    end_products(sums);
    float* const to = work.partials + static_cast<std::int64_t>(blockIdx.x) * kPartial +
                      group * kRegisters * kGroupThreads + static_cast<int>(threadIdx.x) % kGroupThreads;
#pragma unroll
    for (int i = 0; i < kRegisters; ++i) to[i * kGroupThreads] = sums[i];
  }
};

template <typename Its>
__global__ void __launch_bounds__(SumsPlan<Its>::kThreads, 1) sums_kernel(const __grid_constant__ WeightSums work) {
  using Plan = SumsPlan<Its>;
  extern __shared__ __align__(1024) uint4 shared[];
  auto& barriers = *reinterpret_cast<typename Plan::Barriers*>(shared + Its::kStages * Plan::kStageChunks);
  if (threadIdx.x == 0) {
    for (int i = 0; i < Its::kStages; ++i) {
      make_barrier(&barriers.filled[i]);
      make_barrier(&barriers.used[i], Plan::kComputing);
    }
    show_barriers();
  }
  __syncthreads();
  wait_for_earlier_work();
  const SumsPart part(work, Its::kInputs);
  const int group = __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / Plan::kGroupThreads, 0);
  if (group < Its::kGroups) {
    if constexpr (Its::kMoreRegisters > 0) more_registers<Its::kMoreRegisters>();
    Plan::compute_tiles(work, part, group, shared, barriers);
  } else {
    if constexpr (Its::kMoreRegisters > 0) fewer_registers<24>();
    if (threadIdx.x == Plan::kComputing) Plan::copy_tiles(work, part, shared, barriers);
  }
}

// Of pictures with these sizes of what is given and of the result.
struct SumsSizes {
  PictureSizes given, result;
};
template <typename Its>
int pairs_of(const SumsSizes& sizes) {
  return sizes.given.channels / Its::kInputs * (sizes.result.channels / kWindowChannels);
}
template <typename Its>
int rows_of(const SumsSizes& sizes) {
  return (sizes.result.rows + Its::kTileRows - 1) / Its::kTileRows;
}
template <typename Its>
int columns_of(const SumsSizes& sizes) {
  return (sizes.result.columns + Its::kTileColumns - 1) / Its::kTileColumns;
}
template <typename Its>
int tiles_of(const SumsSizes& sizes) {
  return sizes.result.pictures * rows_of<Its>(sizes) * columns_of<Its>(sizes);
}
template <typename Its>
int splits_of(const SumsSizes& sizes, const Device& device) {
  const int tiles = tiles_of<Its>(sizes), room = device.multiprocessors / pairs_of<Its>(sizes);
  return room < 1 ? 1 : tiles < room ? tiles : room;
}
template <typename Its>
std::int64_t partials_of(const SumsSizes& sizes, const Device& device) {
  return static_cast<std::int64_t>(splits_of<Its>(sizes, device)) * pairs_of<Its>(sizes) * SumsPlan<Its>::kPartial;
}

// To launch.partials.
template <typename Its>
cudaError_t sum_up(const void* x, const void* gradient, const SumsSizes& sizes, const Launch& launch) {
  using Plan = SumsPlan<Its>;
  WeightSums work{};
  cudaError_t status = map_pictures<Its::kPlaceBytes>(work.x, x, sizes.given, Its::kInputRows, Its::kInputColumns);
  if (status == cudaSuccess) {
    status = map_pictures(work.gradient, gradient, sizes.result, Its::kTileRows, Its::kTileColumns);
  }
  if (status != cudaSuccess) return status;
  const int pairs = pairs_of<Its>(sizes);
  work.rows = Divider(rows_of<Its>(sizes));
  work.columns = Divider(columns_of<Its>(sizes));
  work.pairs = Divider(pairs);
  work.of_inputs = Divider(sizes.given.channels / Its::kInputs);
  work.tiles = tiles_of<Its>(sizes);
  work.splits = splits_of<Its>(sizes, launch.device);
  work.partials = launch.partials;
  return start(sums_kernel<Its>, {static_cast<std::int64_t>(work.splits) * pairs, Plan::kThreads, Plan::kSharedBytes},
               launch, work);
}

}  // namespace lockstep::kernels::cuda
