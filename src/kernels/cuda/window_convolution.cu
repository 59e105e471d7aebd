// Convolutions with a window of 3 x 3 places from 64 channels to 64. What lies round a tile of places is copied into
// shared memory once; there the places of a row lie one after the other, two more of them than the tile has, so that
// for each place of the window the tensor cores need only begin to read further on. They multiply weights and places,
// not places and weights: 64 channels are too few columns to keep them busy.
#include "bulk_copy.cuh"
#include "launch.cuh"
#include "matrix_map.h"
#include "pairs.cuh"
#include "warpgroup.cuh"

namespace lockstep::kernels::cuda {
namespace {

constexpr int kWindow = 3, kTaps = kWindow * kWindow;
constexpr int kTapChunks = kWindowChannels * kSwizzledBytes / kVectorBytes;
constexpr int kTapBytes = kTapChunks * kVectorBytes;
constexpr int kTileRows = kWindowTileRows, kStages = 3;
constexpr int kGroups = 2, kGroupThreads = 128;  // that compute; one thread of one more group copies
constexpr int kAll = kGroups * kGroupThreads, kWindowThreads = kAll + kGroupThreads;
constexpr int kRowChunks = kSwizzledBytes / kVectorBytes;

template <int kColumns>
struct Tile {
  static constexpr int kWide = kColumns + kWindow - 1, kHigh = kTileRows + kWindow - 1;
  static constexpr int kPlaces = kTileRows * kWide;  // that are computed, of which kColumns in each row are needed
  static constexpr int kHalf = kPlaces / 2;          // of one product
  static constexpr int kCopiedBytes = kHigh * kWide * kSwizzledBytes;
  // The last places that are not needed read a bit further.
  static constexpr int kStageBytes = (kCopiedBytes + (kWindow - 1) * kSwizzledBytes + 1023) / 1024 * 1024;
  static constexpr int kStageChunks = kStageBytes / kVectorBytes;
  static constexpr int kResultChunks = kTileRows * kColumns * kRowChunks;
  static_assert(kHalf * kSwizzledBytes % 1024 == 0 && kHalf % 8 == 0 && kResultChunks + 8 <= kStageChunks);
};

struct WindowWork {
  CUtensorMap x, weight, y;
  Divider rows, columns;  // of tiles, of a picture
  int tiles = 0;
  int height = 0, width = 0;
  KnownValues* known = nullptr;
};

struct Barriers {
  CopyBarrier weights, filled[kStages], computed[kStages];
};
constexpr int kFoundBytes = kGroups * kWindowChannels * static_cast<int>(sizeof(KnownValues));

// Where a tile begins.
template <int kColumns>
__device__ PicturePlace place_of(const WindowWork& work, int tile) {
  const Quotient by_column = work.columns(tile), by_row = work.rows(by_column.whole);
  return {by_row.whole, by_row.rest * kTileRows, by_column.rest * kColumns, 0};
}

// Which stage a block's tile of that number has, and for the how-manieth time.
struct StageTurn {
  int stage;
  unsigned is_odd;
  __device__ explicit StageTurn(int number) : stage(number % kStages), is_odd(number / kStages % 2) {}
};

// One thread, for all tiles of a block: copies what they need, and their results, which take the place of that.
template <int kColumns>
__device__ void copy_tiles(const WindowWork& work, uint4* weights, uint4* stages, Barriers& barriers) {
  using Its = Tile<kColumns>;
  const int first = static_cast<int>(blockIdx.x), step = static_cast<int>(gridDim.x);
  announce(&barriers.weights, kTaps * kTapBytes);
  for (int tap = 0; tap < kTaps; ++tap) {
    load_tile(weights + tap * kTapChunks, work.weight, {0, 0, tap, 0}, &barriers.weights);
  }
  const auto store = [&](int number) {
    const StageTurn turn(number);
    const PicturePlace place = place_of<kColumns>(work, first + number * step);
    wait_for(&barriers.computed[turn.stage], turn.is_odd);
    store_tile(work.y, place, stages + turn.stage * Its::kStageChunks);
    wait_for_stores<0>();
  };
  int number = 0;
  for (int tile = first; tile < work.tiles; tile += step, ++number) {
    if (number >= kStages) store(number - kStages);
    const StageTurn turn(number);
    const PicturePlace place = place_of<kColumns>(work, tile);
    announce(&barriers.filled[turn.stage], Its::kCopiedBytes);
    load_tile(stages + turn.stage * Its::kStageChunks, work.x, {place.picture, place.row - 1, place.column - 1, 0},
              &barriers.filled[turn.stage]);
  }
  for (int last = number < kStages ? 0 : number - kStages; last < number; ++last) store(last);
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
template <int kColumns, bool kGradient>
__device__ void multiply(float (&sums)[2][Tile<kColumns>::kHalf / 2], const uint4* weights, const uint4* stage) {
  using Its = Tile<kColumns>;
  constexpr int kSteps = kWindowChannels / 16;
  const std::uint64_t places = matrix_at(stage), all_weights = matrix_at(weights);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (float& sum : sums[half]) sum = 0;
    begin_products(sums[half]);
  }
#pragma unroll 1
  for (int tap = 0; tap < kTaps; ++tap) {
    const int moved = tap / kWindow * Its::kWide + tap % kWindow;
    const std::uint64_t of_tap = all_weights + (kGradient ? kTaps - 1 - tap : tap) * kTapChunks;
    const std::uint64_t from = places + moved * kRowChunks;
#pragma unroll
    for (int k = 0; k < kSteps; ++k) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        add_product<Its::kHalf, false, kGradient>(sums[half], of_tap + k * (kGradient ? 16 * kRowChunks : 2),
                                                  from + half * Its::kHalf * kRowChunks + k * 2);
      }
    }
  }
  close_group_of_products();
}

// The results that are needed, place by place, over what they were computed from.
template <int kColumns>
__device__ void write_results(const float (&sums)[2][Tile<kColumns>::kHalf / 2], uint4* stage) {
  using Its = Tile<kColumns>;
  constexpr int kBlocks = Its::kHalf / 8;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32 % 4;
  // A lane tells where a row goes, one of eight of the four matrices: 8 places by 16 channels, then 8 more places.
  const int chunk = warp * 2 + lane / 8 % 2, first = lane % 8 + lane / 16 * 8;
#pragma unroll
  for (int pair = 0; pair < kBlocks; ++pair) {
    const int place = first + pair * 16, row = place / Its::kWide, column = place % Its::kWide;
    const int to = column < kColumns ? swizzled(row * kColumns + column, chunk) : Its::kResultChunks + lane % 8;
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

// What a thread knows of the results of a channel.
struct Known {
  float first = 0, sum = 0, squares = 0;  // from the first one

  __device__ void add(float value) {
    const float away = value - first;
    sum += away;
    squares = fmaf(away, away, squares);
  }
  // With those of others, whose sums become such from the same first one.
  __device__ KnownValues among(int count, float their_first) const {
    const float number = static_cast<float>(count), mean = count > 0 ? sum / number : 0;
    const float away = (first - their_first) + mean;
    return {their_first, number * away, fmaf(number * away, away, fmaf(-mean, sum, squares)), number};
  }
};

// Of the values of a warp's threads with the same channel, and then of those of all groups: sums are means from then
// on.
__device__ KnownValues sum_of_quad(const Known& own, int count) {
  KnownValues sums = own.among(count, __shfl_sync(kAllLanes, own.first, static_cast<int>(threadIdx.x) % 32 & ~3));
#pragma unroll
  for (int distance = 1; distance < 4; distance *= 2) {
    sums.mean += __shfl_xor_sync(kAllLanes, sums.mean, distance);
    sums.squares += __shfl_xor_sync(kAllLanes, sums.squares, distance);
    sums.count += __shfl_xor_sync(kAllLanes, sums.count, distance);
  }
  sums.mean = sums.count > 0 ? sums.mean / sums.count : 0;
  sums.squares = fmaxf(fmaf(-sums.mean * sums.count, sums.mean, sums.squares), 0);
  return sums;
}
__device__ KnownValues sum_of_both(const KnownValues& one, const KnownValues& other) {
  const float away = ((other.first - one.first) + other.mean) - one.mean, count = one.count + other.count;
  if (count == 0) return one;
  const float mean = away * (other.count / count);
  return {one.first, one.mean + mean, one.squares + fmaf(away * mean, one.count, other.squares), count};
}

// Of all tiles of a block, whose groups meet in `found`.
__device__ void write_known(KnownValues* to, const Known (&known)[2], int results, int group, KnownValues* found) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32 % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const KnownValues of_group = sum_of_quad(known[half], results);
    if (lane % 4 == 0) found[group * kWindowChannels + warp * 16 + half * 8 + lane / 4] = of_group;
  }
  meet(kOfAll, kAll);
  const int channel = static_cast<int>(threadIdx.x);
  if (channel >= kWindowChannels) return;
  to[blockIdx.x * kWindowChannels + channel] = sum_of_both(found[channel], found[kWindowChannels + channel]);
}

// The results of a tile that lie in the picture.
template <int kColumns>
__device__ int add_results(Known (&known)[2], const float (&sums)[2][Tile<kColumns>::kHalf / 2], int rows,
                           int columns) {
  using Its = Tile<kColumns>;
  constexpr int kBlocks = Its::kHalf / 8;
  const int first = static_cast<int>(threadIdx.x) % 4 * 2;
  int count = 0;
#pragma unroll
  for (int block = 0; block < 2 * kBlocks; ++block) {
    const int place = first + block * 8, row = place / Its::kWide, column = place % Its::kWide;
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

template <int kColumns, bool kGradient>
__device__ void compute_tiles(const WindowWork& work, int group, const uint4* weights, uint4* stages,
                              Barriers& barriers, KnownValues* found) {
  using Its = Tile<kColumns>;
  float sums[2][Its::kHalf / 2];
  Known known[2];
  int results = 0;
  wait_for(&barriers.weights, 0);
  const int count =
      (work.tiles - static_cast<int>(blockIdx.x) + static_cast<int>(gridDim.x) - 1) / static_cast<int>(gridDim.x);
  if (group == 1) come_to(kOfTurn, kAll);
  for (int number = group; number < count; number += kGroups) {
    const StageTurn turn(number);
    uint4* const stage = stages + turn.stage * Its::kStageChunks;
    wait_for(&barriers.filled[turn.stage], turn.is_odd);
    // Groups take turns, so that one has the tensor cores while the other one writes its results.
    meet(kOfTurn + group, kAll);
    multiply<kColumns, kGradient>(sums, weights, stage);
    if (number + 1 < count) come_to(kOfTurn + (1 - group), kAll);
    wait_for_products<0>();
    hold(sums[0]);
    hold(sums[1]);
    meet(kOfGroup + group, kGroupThreads);  // all have read
    write_results<kColumns>(sums, stage);
    show_to_tensor_cores();
    arrive(&barriers.computed[turn.stage]);
    if constexpr (!kGradient) {
      if (work.known == nullptr) continue;
      const PicturePlace place =
          place_of<kColumns>(work, static_cast<int>(blockIdx.x) + number * static_cast<int>(gridDim.x));
      if (number == group) known[0].first = sums[0][0], known[1].first = sums[0][2];
      results += add_results<kColumns>(known, sums, work.height - place.row, min(work.width - place.column, kColumns));
    }
  }
  if constexpr (!kGradient) {
    if (work.known != nullptr) write_known(work.known, known, results, group, found);
  }
}

template <int kColumns, bool kGradient>
__global__ void __launch_bounds__(kWindowThreads, 1) window_kernel(const __grid_constant__ WindowWork work) {
  extern __shared__ __align__(1024) uint4 shared[];
  uint4 *const weights = shared, *const stages = shared + kTaps * kTapChunks;
  uint4* const rest = stages + kStages * Tile<kColumns>::kStageChunks;
  auto* const found = reinterpret_cast<KnownValues*>(rest);
  auto& barriers = *reinterpret_cast<Barriers*>(rest + kFoundBytes / kVectorBytes);
  if (threadIdx.x == 0) {
    make_barrier(&barriers.weights);
    for (int i = 0; i < kStages; ++i) {
      make_barrier(&barriers.filled[i]);
      make_barrier(&barriers.computed[i], kGroupThreads);
    }
    show_barriers();
  }
  __syncthreads();
  wait_for_earlier_work();
  const int group = __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / kGroupThreads, 0);
  if (group < kGroups) {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    compute_tiles<kColumns, kGradient>(work, group, weights, stages, barriers, found);
  } else {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    if (threadIdx.x == kAll) copy_tiles<kColumns>(work, weights, stages, barriers);
  }
}

int rows_of(const WindowConvolution& work) {
  return (work.height + kTileRows - 1) / kTileRows;
}
int columns_of(const WindowConvolution& work) {
  const int columns = window_tile_columns(work.width);
  return (work.width + columns - 1) / columns;
}

template <int kColumns>
cudaError_t launch_columns(const WindowConvolution& convolution, const Launch& launch) {
  using Its = Tile<kColumns>;
  const PictureSizes sizes{convolution.samples, convolution.height, convolution.width, kWindowChannels};
  const PictureSizes weights{1, kWindowChannels, kTaps, kWindowChannels};
  WindowWork work{};
  cudaError_t status = map_pictures(work.x, convolution.x, sizes, Its::kHigh, Its::kWide);
  if (status == cudaSuccess) status = map_pictures(work.weight, convolution.weight, weights, kWindowChannels, 1);
  if (status == cudaSuccess) status = map_pictures(work.y, convolution.y, sizes, kTileRows, kColumns);
  if (status != cudaSuccess) return status;
  work.rows = Divider(rows_of(convolution));
  work.columns = Divider(columns_of(convolution));
  work.tiles = sizes.pictures * rows_of(convolution) * columns_of(convolution);
  work.height = sizes.rows;
  work.width = sizes.columns;
  work.known = convolution.known;
  const Grid grid{window_parts(convolution, launch.device), kWindowThreads,
                  kTaps * kTapBytes + kStages * Its::kStageBytes + kFoundBytes + static_cast<int>(sizeof(Barriers))};
  return convolution.is_gradient ? start(window_kernel<kColumns, true>, grid, launch, work)
                                 : start(window_kernel<kColumns, false>, grid, launch, work);
}

}  // namespace

// One for each block.
int window_parts(const WindowConvolution& work, const Device& device) {
  const int tiles = work.samples * rows_of(work) * columns_of(work);
  return tiles < device.multiprocessors ? tiles : device.multiprocessors;
}

cudaError_t launch_window_convolution(const WindowConvolution& work, const Launch& launch) {
  return window_tile_columns(work.width) == 28 ? launch_columns<28>(work, launch) : launch_columns<32>(work, launch);
}

}  // namespace lockstep::kernels::cuda
