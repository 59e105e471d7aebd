// Convolutions to 64 channels: with a window of 3 x 3 places from 64 channels, or of a column of blocks.
#include "known_values.cuh"
#include "pairs.cuh"
#include "window_tile.cuh"

namespace lockstep::kernels::cuda {
namespace {

// A column of places, as long as it says, with 32 channels each.
struct Column {
  static constexpr int kMostTaps = kMostColumnRows, kStages = 5;
  static constexpr int kColumns = kColumnTileColumns, kWide = kColumns;
  static constexpr int kPlaceBytes = 2 * kColumnChannels, kMargin = 0;
  static constexpr int kStageBytes = whole_groups(kTileRows * kColumns * 128 + 128);  // of results
  static_assert((kTileRows + kMostTaps - 1) * kWide * kPlaceBytes <= kStageBytes);
  __device__ static int moved(int tap) { return tap * kWide; }
};

struct WindowWork {
  CUtensorMap x, weight, y;
  TileGrid grid;
  int taps = 0, copied_bytes = 0;
  KnownValues* known = nullptr;
};

template <int kStages>
struct Barriers {
  CopyBarrier weights, filled[kStages], computed[kStages];
};
template <typename Tile>
using ItsBarriers = Barriers<Tile::kStages>;
constexpr int kFoundBytes = kGroups * kWindowChannels * static_cast<int>(sizeof(KnownValues));

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
    const PicturePlace place = work.grid.place_of<Tile>(first + number * step);
    wait_for(&barriers.computed[turn.stage], turn.is_odd);
    store_tile(work.y, place, stages + turn.stage * Its::kStageChunks);
    wait_for_stores<0>();
  };
  int number = 0;
  for (int tile = first; tile < work.grid.tiles; tile += step, ++number) {
    if (number >= Tile::kStages) store(number - Tile::kStages);
    const StageTurn<Tile> turn(number);
    const PicturePlace place = work.grid.place_of<Tile>(tile);
    announce(&barriers.filled[turn.stage], work.copied_bytes);
    load_tile(stages + turn.stage * Its::kStageChunks, work.x,
              {place.picture, place.row - Tile::kMargin, place.column - Tile::kMargin, 0},
              &barriers.filled[turn.stage]);
  }
  for (int last = number < Tile::kStages ? 0 : number - Tile::kStages; last < number; ++last) store(last);
}

// The results that are needed, place by place, over what they were computed from.
template <typename Tile>
__device__ void write_results(Sums<Tile>& sums, uint4* stage) {
  using Its = Sizes<Tile>;
  const int thread = computed_again(static_cast<int>(threadIdx.x));
#pragma unroll
  for (int pair = 0; pair < Its::kBlocks; ++pair) {
    unsigned values[4];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float* const four = four_of<Tile>(sums, pair * 2 + i);
      values[i * 2] = packed(four[0], four[1]);
      values[i * 2 + 1] = packed(four[2], four[3]);
    }
    store_transposed(stage + result_chunk<Tile>(thread, pair, Its::kResultChunks), values);
  }
}

// Adds the results of a tile that lie in the picture, and returns how many these are of each channel. kAll: all do.
template <typename Tile, bool kAll>
__device__ int add_results(Known (&known)[2], Sums<Tile>& sums, const InPicture<Tile>& in_picture) {
  const int thread = computed_again(static_cast<int>(threadIdx.x));
  int count = 0;
#pragma unroll
  for (int block = 0; block < 2 * Sizes<Tile>::kBlocks; ++block) {
    const auto places = two_places<Tile>(thread, block);
    const float* const four = four_of<Tile>(sums, block);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (!places.has_result || !(kAll || in_picture.has(places.row, places.column + i))) continue;
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
  const int count = tiles_of_block(work.grid);
  if (group == 1) come_to(kOfTurn, kAll);
  for (int number = group; number < count; number += kGroups) {
    const StageTurn<Tile> turn(number);
    uint4* const stage = stages + turn.stage * Its::kStageChunks;
    wait_for(&barriers.filled[turn.stage], turn.is_odd);
    clear<Tile>(sums);
    multiply_in_turn<Tile, kGradient>(sums, group, number + 1 == count, weights, stage, work.taps);
    meet(kOfGroup + group, kGroupThreads);  // all have read
    write_results<Tile>(sums, stage);
    show_to_tensor_cores();
    arrive(&barriers.computed[turn.stage]);
    if constexpr (!kGradient) {
      if (work.known == nullptr) continue;
      const PicturePlace place =
          work.grid.place_of<Tile>(static_cast<int>(blockIdx.x) + number * static_cast<int>(gridDim.x));
      if (number == group) known[0].first = sums[0][0], known[1].first = sums[0][2];
      const InPicture<Tile> in_picture(work.grid, place);
      results += in_picture.has_all() ? add_results<Tile, true>(known, sums, in_picture)
                                      : add_results<Tile, false>(known, sums, in_picture);
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

template <typename Tile>
Grid grid_for(const WindowWork& work, const Device& device) {
  return {blocks_for(work.grid, device), kWindowThreads,
          Tile::kMostTaps * Sizes<Tile>::kTapBytes + Tile::kStages * Tile::kStageBytes + kFoundBytes +
              static_cast<int>(sizeof(ItsBarriers<Tile>))};
}

PictureSizes sizes_of(const ColumnConvolution& work) {
  return {work.samples, work.height, work.width, kWindowChannels};
}

template <typename Tile>
cudaError_t launch_squares(const WindowConvolution& convolution, const Launch& launch) {
  const PictureSizes sizes = sizes_of(convolution);
  WindowWork work{.grid = tiles_of<Tile>(sizes), .taps = Tile::kMostTaps, .known = convolution.known};
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
  return by_width(work.width, [&](auto tile) { return blocks_for(tiles_of<decltype(tile)>(sizes_of(work)), device); });
}
int column_parts(const ColumnConvolution& work, const Device& device) {
  return blocks_for(tiles_of<Column>(sizes_of(work)), device);
}

cudaError_t launch_window_convolution(const WindowConvolution& work, const Launch& launch) {
  return by_width(work.width, [&](auto tile) { return launch_squares<decltype(tile)>(work, launch); });
}

cudaError_t launch_column_convolution(const ColumnConvolution& convolution, const Launch& launch) {
  const PictureSizes result = sizes_of(convolution);
  const PictureSizes given{result.pictures, result.rows + convolution.rows - 1, result.columns, kColumnChannels};
  WindowWork work{.grid = tiles_of<Column>(result), .taps = convolution.rows, .known = convolution.known};
  const cudaError_t status = map_all<Column>(work, convolution.x, given, kTileRows + convolution.rows - 1,
                                             convolution.weight, convolution.y, result);
  if (status != cudaSuccess) return status;
  return start(window_kernel<Column, false>, grid_for<Column>(work, launch.device), launch, work);
}

}  // namespace lockstep::kernels::cuda
