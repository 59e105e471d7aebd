// The gradients of the weights of convolutions with a window of 3 x 3 places: sums over all places of the products of
// each output's gradient and each input that its window sees. A block of threads has 64 outputs and 64 inputs, and adds
// up the products of its tiles in registers; what the blocks have is added in a second kernel, always in the same
// order.
#include "bulk_copy.cuh"
#include "launch.cuh"
#include "matrix_map.h"
#include "pairs.cuh"
#include "warpgroup.cuh"

namespace lockstep::kernels::cuda {
namespace {

constexpr int kWindow = 3, kTaps = kWindow * kWindow;
constexpr int kTileRows = kGradientTileRows, kTileColumns = kGradientTileColumns, kStages = 5;
constexpr int kWide = kTileColumns + kWindow - 1, kHigh = kTileRows + kWindow - 1;
constexpr int kRowChunks = kSwizzledBytes / kVectorBytes;
constexpr int kGradientBytes = kTileRows * kTileColumns * kSwizzledBytes, kInputBytes = kHigh * kWide * kSwizzledBytes;
constexpr int kGradientChunks = kGradientBytes / kVectorBytes;
constexpr int kSlotBytes = kGradientBytes + (kInputBytes + 1023) / 1024 * 1024;
constexpr int kSlotChunks = kSlotBytes / kVectorBytes;
static_assert(kTileColumns == 16);  // of one product
// A group of threads for each row of the window, and one more, of which one thread copies.
constexpr int kGroupThreads = 128, kComputing = kWindow * kGroupThreads, kAll = kComputing + kGroupThreads;
constexpr int kOutputs = kWindow * kWindowChannels, kRegisters = kOutputs / 2;  // of a product
constexpr int kPartial = kTaps * kWindowChannels * kWindowChannels;
static_assert(kPartial == kComputing * kRegisters);

struct WindowSums {
  CUtensorMap x, gradient;
  Divider rows, columns;     // of tiles, of a picture
  Divider pairs, of_inputs;  // of 64 outputs and 64 inputs; 64 inputs
  int tiles = 0, splits = 0;
  float* partials = nullptr;
};

// What a block works on: a pair, and every splits-th tile.
struct Part {
  int split, output, input;
  __device__ explicit Part(const WindowSums& work) {
    const Quotient by_pair = work.pairs(static_cast<int>(blockIdx.x)), by_output = work.of_inputs(by_pair.rest);
    split = by_pair.whole;
    output = by_output.whole * kWindowChannels;
    input = by_output.rest * kWindowChannels;
  }
};

struct Barriers {
  CopyBarrier filled[kStages], used[kStages];
};

__device__ void copy_tiles(const WindowSums& work, const Part& part, uint4* stages, Barriers& barriers) {
  int number = 0;
  for (int tile = part.split; tile < work.tiles; tile += work.splits, ++number) {
    const int stage = number % kStages;
    if (number >= kStages) wait_for(&barriers.used[stage], (number / kStages - 1) % 2);
    const Quotient by_column = work.columns(tile), by_row = work.rows(by_column.whole);
    const int picture = by_row.whole, row = by_row.rest * kTileRows, column = by_column.rest * kTileColumns;
    uint4* const to = stages + stage * kSlotChunks;
    announce(&barriers.filled[stage], kGradientBytes + kInputBytes);
    load_tile(to, work.gradient, {picture, row, column, part.output}, &barriers.filled[stage]);
    load_tile(to + kGradientChunks, work.x, {picture, row - 1, column - 1, part.input}, &barriers.filled[stage]);
  }
}

// Of one row of the window. The inputs of its second place begin one place after those of its first one, so that one
// product, three times as wide, has all three.
__device__ void multiply(float (&sums)[kRegisters], const uint4* stage, int window_row) {
  const std::uint64_t gradient = matrix_at(stage);
  const std::uint64_t input =
      matrix_at(stage + kGradientChunks, kSwizzledBytes) + static_cast<unsigned>(window_row * kWide * kRowChunks);
#pragma unroll
  for (int row = 0; row < kTileRows; ++row) {
    add_product<kOutputs, true, true>(sums, gradient + row * kTileColumns * kRowChunks,
                                      input + row * kWide * kRowChunks);
  }
  close_group_of_products();
}

__device__ void compute_tiles(const WindowSums& work, const Part& part, int group, const uint4* stages,
                              Barriers& barriers) {
  float sums[kRegisters];
#pragma unroll
  for (float& sum : sums) sum = 0;
  begin_products(sums);
  int number = 0, last = 0;
  for (int tile = part.split; tile < work.tiles; tile += work.splits, ++number) {
    const int stage = number % kStages;
    wait_for(&barriers.filled[stage], number / kStages % 2);
    multiply(sums, stages + stage * kSlotChunks, group);
    // While these are under way, those before them end.
    wait_for_products<1>();
    if (number > 0) arrive(&barriers.used[last]);
    last = stage;
  }
  end_products(sums);
  float* const to = work.partials + static_cast<std::int64_t>(blockIdx.x) * kPartial + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kRegisters; ++i) to[i * kComputing] = sums[i];
}

__global__ void __launch_bounds__(kAll, 1) sums_kernel(const __grid_constant__ WindowSums work) {
  extern __shared__ __align__(1024) uint4 stages[];
  auto& barriers = *reinterpret_cast<Barriers*>(stages + kStages * kSlotChunks);
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      make_barrier(&barriers.filled[i]);
      make_barrier(&barriers.used[i], kComputing);
    }
    show_barriers();
  }
  __syncthreads();
  wait_for_earlier_work();
  const Part part(work);
  const int group = __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / kGroupThreads, 0);
  if (group < kWindow) {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 152;");
    compute_tiles(work, part, group, stages, barriers);
  } else {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    if (threadIdx.x == kComputing) copy_tiles(work, part, stages, barriers);
  }
}

struct PartialSums {
  const float* partials = nullptr;  // [split][pair][register][thread]
  int pairs = 0, splits = 0, channels = 0;
  __nv_bfloat16* sums = nullptr;  // [output][place of the window][input]
};

constexpr int kVector = 4, kAdders = 4;

// A block has the values of one register. Threads with the same part of them each add up some of the splits.
__global__ void __launch_bounds__(kComputing) add_kernel(const __grid_constant__ PartialSums work) {
  constexpr int kAtOnce = 9, kVectorsOfBlock = kComputing / kVector;
  static_assert(kAdders * kVectorsOfBlock == kComputing);
  extern __shared__ float4 added[];
  wait_for_earlier_work();
  const int number = static_cast<int>(blockIdx.x) % kRegisters, pair = static_cast<int>(blockIdx.x) / kRegisters;
  const int thread = static_cast<int>(threadIdx.x), vector = thread % kVectorsOfBlock, adder = thread / kVectorsOfBlock;
  const auto* const from = reinterpret_cast<const float4*>(work.partials + static_cast<std::int64_t>(pair) * kPartial +
                                                           number * kComputing + vector * kVector);
  const std::int64_t step = static_cast<std::int64_t>(work.pairs) * kPartial / kVector;
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
  // What that register of that thread has.
  const int lane = thread % 32, warp = thread / 32 % 4, window_row = thread / kGroupThreads;
  const int of_inputs = work.channels / kWindowChannels;
  const int output = pair / of_inputs * kWindowChannels + warp * 16 + number / 2 % 2 * 8 + lane / 4;
  const int column = number / 4 * 8 + lane % 4 * 2 + number % 2;
  const int place = window_row * kWindow + column / kWindowChannels;
  const int input = pair % of_inputs * kWindowChannels + column % kWindowChannels;
  work.sums[(output * kTaps + place) * work.channels + input] = __float2bfloat16(total);
}

int of_inputs(const WindowGradient& work) {
  return work.channels / kWindowChannels;
}
int rows_of(const WindowGradient& work) {
  return (work.height + kTileRows - 1) / kTileRows;
}
int columns_of(const WindowGradient& work) {
  return (work.width + kTileColumns - 1) / kTileColumns;
}

int splits_of(const WindowGradient& work, const Device& device) {
  const int tiles = work.samples * rows_of(work) * columns_of(work);
  const int room = device.multiprocessors / (of_inputs(work) * of_inputs(work));
  return room < 1 ? 1 : tiles < room ? tiles : room;
}

}  // namespace

std::int64_t window_partials(const WindowGradient& work, const Device& device) {
  return static_cast<std::int64_t>(splits_of(work, device)) * of_inputs(work) * of_inputs(work) * kPartial;
}

cudaError_t launch_window_gradient(const WindowGradient& work, const Launch& launch) {
  const PictureSizes sizes{work.samples, work.height, work.width, work.channels};
  WindowSums sums{};
  cudaError_t status = map_pictures(sums.x, work.x, sizes, kHigh, kWide);
  if (status == cudaSuccess) status = map_pictures(sums.gradient, work.gradient, sizes, kTileRows, kTileColumns);
  if (status != cudaSuccess) return status;
  const int pairs = of_inputs(work) * of_inputs(work);
  sums.rows = Divider(rows_of(work));
  sums.columns = Divider(columns_of(work));
  sums.pairs = Divider(pairs);
  sums.of_inputs = Divider(of_inputs(work));
  sums.tiles = work.samples * rows_of(work) * columns_of(work);
  sums.splits = splits_of(work, launch.device);
  sums.partials = launch.partials;
  const std::int64_t blocks = static_cast<std::int64_t>(sums.splits) * pairs;
  status = start(sums_kernel, {blocks, kAll, kStages * kSlotBytes + static_cast<int>(sizeof(Barriers))}, launch, sums);
  if (status != cudaSuccess) return status;
  const PartialSums partial{launch.partials, pairs, sums.splits, work.channels,
                            static_cast<__nv_bfloat16*>(work.weight_gradient)};
  return start(add_kernel, {static_cast<std::int64_t>(pairs) * kRegisters, kComputing, kComputing * kVectorBytes},
               launch, partial);
}

}  // namespace lockstep::kernels::cuda
