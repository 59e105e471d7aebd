// Convolutions to 64 channels: with a window of 3 x 3 places from 64 channels, or of a column of blocks. What lies
// round a tile of places is copied into shared memory once; there the places of a row lie one after the other, as many
// more of them than the tile has as the window needs, so that for each place of the window the tensor cores need only
// begin to read further on. They multiply weights and places, not places and weights: 64 channels are too few columns
// to keep them busy.
#include "bulk_copy.cuh"
#include "known_values.cuh"
#include "launch.cuh"
#include "matrix_map.h"
#include "pairs.cuh"
#include "warpgroup.cuh"

namespace lockstep::kernels::cuda {
namespace {

constexpr int kTileRows = kWindowTileRows;
constexpr int kGroups = 2, kGroupThreads = 128;  // that compute; one thread of one more group copies
constexpr int kAll = kGroups * kGroupThreads, kWindowThreads = kAll + kGroupThreads;

constexpr int whole_groups(int bytes) {
  return (bytes + 1023) / 1024 * 1024;
}

// A tile of kColumns columns and what its window needs: of 3 x 3 places with 64 channels each.
template <int kItsColumns>
struct Square {
  static constexpr int kWindow = 3, kMostTaps = kWindow * kWindow, kStages = 3;
  static constexpr int kColumns = kItsColumns, kWide = kColumns + kWindow - 1;
  static constexpr int kPlaceBytes = 128, kMargin = 1;  // places before the first one of the tile, on both sides
  static constexpr int kInputRows = kTileRows + kWindow - 1;
  // The last places that are not needed read a bit further.
  static constexpr int kStageBytes = whole_groups((kInputRows * kWide + kWindow - 1) * kPlaceBytes);
  __device__ static int moved(int tap) { return tap / kWindow * kWide + tap % kWindow; }
};
// A column of places, as long as it says, with 32 channels each.
struct Column {
  static constexpr int kMostTaps = kMostColumnRows, kStages = 5;
  static constexpr int kColumns = kColumnTileColumns, kWide = kColumns;
  static constexpr int kPlaceBytes = 2 * kColumnChannels, kMargin = 0;
  static constexpr int kStageBytes = whole_groups(kTileRows * kColumns * 128 + 128);  // of results
  static_assert((kTileRows + kMostTaps - 1) * kWide * kPlaceBytes <= kStageBytes);
  __device__ static int moved(int tap) { return tap * kWide; }
};

template <typename Tile>
struct Sizes {
  // Places of one product, of two for a tile. In each row some are computed that are not needed.
  static constexpr int kHalf = kTileRows * Tile::kWide / 2;
  static constexpr int kPlaceChunks = Tile::kPlaceBytes / kVectorBytes;
  static constexpr int kTapBytes = kWindowChannels * Tile::kPlaceBytes, kTapChunks = kTapBytes / kVectorBytes;
  static constexpr int kStageChunks = Tile::kStageBytes / kVectorBytes;
  static constexpr int kResultChunks = kTileRows * Tile::kColumns * kSwizzledBytes / kVectorBytes;
  static_assert(kHalf * Tile::kPlaceBytes % 1024 == 0 && kHalf % 8 == 0 && kResultChunks + 8 <= kStageChunks);
};
template <typename Tile>
using Sums = float[2][Sizes<Tile>::kHalf / 2];

struct WindowWork {
  CUtensorMap x, weight, y;
  Divider rows, columns;  // of tiles, of a picture
  int tiles = 0, taps = 0, copied_bytes = 0;
  int height = 0, width = 0;
  KnownValues* known = nullptr;
};

template <int kStages>
struct Barriers {
  CopyBarrier weights, filled[kStages], computed[kStages];
};
template <typename Tile>
using ItsBarriers = Barriers<Tile::kStages>;
constexpr int kFoundBytes = kGroups * kWindowChannels * static_cast<int>(sizeof(KnownValues));

// Where a tile begins.
template <typename Tile>
__device__ PicturePlace place_of(const WindowWork& work, int tile) {
  const Quotient by_column = work.columns(tile), by_row = work.rows(by_column.whole);
  return {by_row.whole, by_row.rest * kTileRows, by_column.rest * Tile::kColumns, 0};
}

// Which stage a block's tile of that number has, and for the how-manieth time.
template <typename Tile>
struct StageTurn {
  int stage;
  unsigned is_odd;
  __device__ explicit StageTurn(int number) : stage(number % Tile::kStages), is_odd(number / Tile::kStages % 2) {}
};

// One thread, for all tiles of a block: copies what they need, and their results, which take the place of that.
template <typename Tile>
__device__ void copy_tiles(const WindowWork& work, uint4* weights, uint4* stages, ItsBarriers<Tile>& barriers) {
  using Its = Sizes<Tile>;
  const int first = static_cast<int>(blockIdx.x), step = static_cast<int>(gridDim.x);
  announce(&barriers.weights, work.taps * Its::kTapBytes);
  for (int tap = 0; tap < work.taps; ++tap) {
    load_tile(weights + tap * Its::kTapChunks, work.weight, {0, 0, tap, 0}, &barriers.weights);
  }
  const auto store = [&](int number) {
    const StageTurn<Tile> turn(number);
    const PicturePlace place = place_of<Tile>(work, first + number * step);
    wait_for(&barriers.computed[turn.stage], turn.is_odd);
    store_tile(work.y, place, stages + turn.stage * Its::kStageChunks);
    wait_for_stores<0>();
  };
  int number = 0;
  for (int tile = first; tile < work.tiles; tile += step, ++number) {
    if (number >= Tile::kStages) store(number - Tile::kStages);
    const StageTurn<Tile> turn(number);
    const PicturePlace place = place_of<Tile>(work, tile);
    announce(&barriers.filled[turn.stage], work.copied_bytes);
    load_tile(stages + turn.stage * Its::kStageChunks, work.x,
              {place.picture, place.row - Tile::kMargin, place.column - Tile::kMargin, 0},
              &barriers.filled[turn.stage]);
  }
  for (int last = number < Tile::kStages ? 0 : number - Tile::kStages; last < number; ++last) store(last);
}

// The threads of a group, or of both, meet there; come_to() lets others go on without waiting for them.
__device__ inline void meet(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ inline void come_to(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
constexpr int kOfGroup = 1, kOfTurn = kOfGroup + kGroups, kOfAll = kOfTurn + kGroups;  // barriers; 0 is the block's

// Starts all products of a tile. For a gradient the window is turned round, and inputs and outputs change their roles.
template <typename Tile, bool kGradient>
__device__ void multiply(Sums<Tile>& sums, const uint4* weights, const uint4* stage, int taps) {
  using Its = Sizes<Tile>;
  constexpr int kSteps = Its::kPlaceChunks / 2;
  const std::uint64_t places = matrix_at<Tile::kPlaceBytes>(stage);
  const std::uint64_t all_weights = matrix_at<Tile::kPlaceBytes>(weights);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (float& sum : sums[half]) sum = 0;
    begin_products(sums[half]);
  }
#pragma unroll 1
  for (int tap = 0; tap < taps; ++tap) {
    const std::uint64_t of_tap = all_weights + (kGradient ? taps - 1 - tap : tap) * Its::kTapChunks;
    const std::uint64_t from = places + Tile::moved(tap) * Its::kPlaceChunks;
#pragma unroll
    for (int k = 0; k < kSteps; ++k) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        add_product<Its::kHalf, false, kGradient>(sums[half], of_tap + k * (kGradient ? 16 * Its::kPlaceChunks : 2),
                                                  from + half * Its::kHalf * Its::kPlaceChunks + k * 2);
      }
    }
  }
  close_group_of_products();
}

// The results that are needed, place by place, over what they were computed from.
template <typename Tile>
__device__ void write_results(const Sums<Tile>& sums, uint4* stage) {
  using Its = Sizes<Tile>;
  constexpr int kBlocks = Its::kHalf / 8;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32 % 4;
  // A lane tells where a row goes, one of eight of the four matrices: 8 places by 16 channels, then 8 more places.
  const int chunk = warp * 2 + lane / 8 % 2, first = lane % 8 + lane / 16 * 8;
#pragma unroll
  for (int pair = 0; pair < kBlocks; ++pair) {
    const int place = first + pair * 16, row = place / Tile::kWide, column = place % Tile::kWide;
    const int to =
        column < Tile::kColumns ? swizzled(row * Tile::kColumns + column, chunk) : Its::kResultChunks + lane % 8;
    unsigned values[4];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int block = pair * 2 + i;
      const float* const four = sums[block / kBlocks] + block % kBlocks * 4;
      values[i * 2] = packed(four[0], four[1]);
      values[i * 2 + 1] = packed(four[2], four[3]);
    }
    store_transposed(stage + to, values);
  }
}

// Adds the results of a tile that lie in the picture, and returns how many these are of each channel.
template <typename Tile>
__device__ int add_results(Known (&known)[2], const Sums<Tile>& sums, int rows, int columns) {
  using Its = Sizes<Tile>;
  constexpr int kBlocks = Its::kHalf / 8;
  const int first = static_cast<int>(threadIdx.x) % 4 * 2;
  int count = 0;
#pragma unroll
  for (int block = 0; block < 2 * kBlocks; ++block) {
    const int place = first + block * 8, row = place / Tile::kWide, column = place % Tile::kWide;
    const float* const four = sums[block / kBlocks] + block % kBlocks * 4;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (row >= rows || column + i >= columns) continue;
      known[0].add(four[i]);
      known[1].add(four[2 + i]);
      ++count;
    }
  }
  return count;
}

template <typename Tile, bool kGradient>
__device__ void compute_tiles(const WindowWork& work, int group, const uint4* weights, uint4* stages,
                              ItsBarriers<Tile>& barriers, KnownValues* found) {
  using Its = Sizes<Tile>;
  Sums<Tile> sums;
  Known known[2];
  int results = 0;
  wait_for(&barriers.weights, 0);
  const int count =
      (work.tiles - static_cast<int>(blockIdx.x) + static_cast<int>(gridDim.x) - 1) / static_cast<int>(gridDim.x);
  if (group == 1) come_to(kOfTurn, kAll);
  for (int number = group; number < count; number += kGroups) {
    const StageTurn<Tile> turn(number);
    uint4* const stage = stages + turn.stage * Its::kStageChunks;
    wait_for(&barriers.filled[turn.stage], turn.is_odd);
    // Groups take turns, so that one has the tensor cores while the other one writes its results.
    meet(kOfTurn + group, kAll);
    multiply<Tile, kGradient>(sums, weights, stage, work.taps);
    if (number + 1 < count) come_to(kOfTurn + (1 - group), kAll);
    wait_for_products<0>();
    hold(sums[0]);
    hold(sums[1]);
    meet(kOfGroup + group, kGroupThreads);  // all have read
    write_results<Tile>(sums, stage);
    show_to_tensor_cores();
    arrive(&barriers.computed[turn.stage]);
    if constexpr (!kGradient) {
      if (work.known == nullptr) continue;
      const PicturePlace place =
          place_of<Tile>(work, static_cast<int>(blockIdx.x) + number * static_cast<int>(gridDim.x));
      if (number == group) known[0].first = sums[0][0], known[1].first = sums[0][2];
      results +=
          add_results<Tile>(known, sums, work.height - place.row, min(work.width - place.column, Tile::kColumns));
    }
  }
  if constexpr (!kGradient) {
    if (work.known != nullptr) write_known(work.known, known, results, group, found, [] { meet(kOfAll, kAll); });
  }
}

template <typename Tile, bool kGradient>
__global__ void __launch_bounds__(kWindowThreads, 1) window_kernel(const __grid_constant__ WindowWork work) {
  extern __shared__ __align__(1024) uint4 shared[];
  uint4 *const weights = shared, *const stages = shared + Tile::kMostTaps * Sizes<Tile>::kTapChunks;
  uint4* const rest = stages + Tile::kStages * Sizes<Tile>::kStageChunks;
  auto* const found = reinterpret_cast<KnownValues*>(rest);
  auto& barriers = *reinterpret_cast<ItsBarriers<Tile>*>(rest + kFoundBytes / kVectorBytes);
  if (threadIdx.x == 0) {
    make_barrier(&barriers.weights);
    for (int i = 0; i < Tile::kStages; ++i) {
      make_barrier(&barriers.filled[i]);
      make_barrier(&barriers.computed[i], kGroupThreads);
    }
    show_barriers();
  }
  __syncthreads();
  wait_for_earlier_work();
  const int group = __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / kGroupThreads, 0);
  if (group < kGroups) {
    more_registers<240>();
    compute_tiles<Tile, kGradient>(work, group, weights, stages, barriers, found);
  } else {
    fewer_registers<24>();
    if (threadIdx.x == kAll) copy_tiles<Tile>(work, weights, stages, barriers);
  }
}

template <typename Tile>
WindowWork work_for(const PictureSizes& result, int taps, KnownValues* known) {
  const int rows = (result.rows + kTileRows - 1) / kTileRows;
  const int columns = (result.columns + Tile::kColumns - 1) / Tile::kColumns;
  WindowWork work{};
  work.rows = Divider(rows);
  work.columns = Divider(columns);
  work.tiles = result.pictures * rows * columns;
  work.taps = taps;
  work.height = result.rows;
  work.width = result.columns;
  work.known = known;
  return work;
}

// What is given has `input_rows` rows for a tile.
template <typename Tile>
cudaError_t map_all(WindowWork& work, const void* x, const PictureSizes& given, int input_rows, const void* weight,
                    void* y, const PictureSizes& result) {
  const PictureSizes weights{1, kWindowChannels, work.taps, given.channels};
  work.copied_bytes = input_rows * Tile::kWide * Tile::kPlaceBytes;
  cudaError_t status = map_pictures<Tile::kPlaceBytes>(work.x, x, given, input_rows, Tile::kWide);
  if (status == cudaSuccess) {
    status = map_pictures<Tile::kPlaceBytes>(work.weight, weight, weights, kWindowChannels, 1);
  }
  if (status == cudaSuccess) status = map_pictures(work.y, y, result, kTileRows, Tile::kColumns);
  return status;
}

int blocks_for(int tiles, const Device& device) {
  return tiles < device.multiprocessors ? tiles : device.multiprocessors;
}

template <typename Tile>
Grid grid_for(const WindowWork& work, const Device& device) {
  return {blocks_for(work.tiles, device), kWindowThreads,
          Tile::kMostTaps * Sizes<Tile>::kTapBytes + Tile::kStages * Tile::kStageBytes + kFoundBytes +
              static_cast<int>(sizeof(ItsBarriers<Tile>))};
}

PictureSizes sizes_of(const WindowConvolution& work) {
  return {work.samples, work.height, work.width, kWindowChannels};
}
PictureSizes sizes_of(const ColumnConvolution& work) {
  return {work.samples, work.height, work.width, kWindowChannels};
}

template <int kColumns>
cudaError_t launch_squares(const WindowConvolution& convolution, const Launch& launch) {
  using Tile = Square<kColumns>;
  const PictureSizes sizes = sizes_of(convolution);
  WindowWork work = work_for<Tile>(sizes, Tile::kMostTaps, convolution.known);
  const cudaError_t status =
      map_all<Tile>(work, convolution.x, sizes, Tile::kInputRows, convolution.weight, convolution.y, sizes);
  if (status != cudaSuccess) return status;
  const Grid grid = grid_for<Tile>(work, launch.device);
  return convolution.is_gradient ? start(window_kernel<Tile, true>, grid, launch, work)
                                 : start(window_kernel<Tile, false>, grid, launch, work);
}

}  // namespace

// One for each block of threads.
int window_parts(const WindowConvolution& work, const Device& device) {
  const int tiles = window_tile_columns(work.width) == 28 ? work_for<Square<28>>(sizes_of(work), 0, nullptr).tiles
                                                          : work_for<Square<32>>(sizes_of(work), 0, nullptr).tiles;
  return blocks_for(tiles, device);
}
int column_parts(const ColumnConvolution& work, const Device& device) {
  return blocks_for(work_for<Column>(sizes_of(work), 0, nullptr).tiles, device);
}

cudaError_t launch_window_convolution(const WindowConvolution& work, const Launch& launch) {
  return window_tile_columns(work.width) == 28 ? launch_squares<28>(work, launch) : launch_squares<32>(work, launch);
}

cudaError_t launch_column_convolution(const ColumnConvolution& convolution, const Launch& launch) {
  const PictureSizes result = sizes_of(convolution);
  const PictureSizes given{result.pictures, result.rows + convolution.rows - 1, result.columns, kColumnChannels};
  WindowWork work = work_for<Column>(result, convolution.rows, convolution.known);
  const cudaError_t status = map_all<Column>(work, convolution.x, given, kTileRows + convolution.rows - 1,
                                             convolution.weight, convolution.y, result);
  if (status != cudaSuccess) return status;
  return start(window_kernel<Column, false>, grid_for<Column>(work, launch.device), launch, work);
}

}  // namespace lockstep::kernels::cuda
