// The gradient of the input of a convolution with 3 x 3 places and 64 channels, where that input was normalized and
// rectified: with that of the input's second reader, as far as the ReLU let it by, and with the sums that the
// normalization's own gradient needs. Groups of threads take turns: while one has the tensor cores, the other one goes
// over its results.
#include "pairs.cuh"
#include "vector.cuh"
#include "window_tile.cuh"

namespace lockstep::kernels::cuda {
namespace {

struct PassedWork {
  CUtensorMap gradient, weight, add, values, y;  // the values that were normalized
  TileGrid grid;
  KeptChannels kept = {};
  const std::uint8_t* positive = nullptr;
  GradientSums* sums = nullptr;
  bool adds = false;
};

// Of a group, which has a place for what a tile's products need, and one for its results: this one gets first what is
// added, then the values, and in the end the results.
struct GroupBarriers {
  CopyBarrier filled, used;    // the first place
  CopyBarrier added, taken;    // the second one
  CopyBarrier read, computed;  // and again
};
struct PassedBarriers {
  CopyBarrier weights;
  GroupBarriers of[kGroups];
};

template <typename Tile, bool kFromBits>
struct Layout {
  using Its = Sizes<Tile>;
  static constexpr int kPlaces = kTileRows * Tile::kColumns, kBitsOfPlace = kWindowChannels / 8;
  static constexpr int kWeightChunks = Tile::kMostTaps * Its::kTapChunks;
  // Bits, and at the end sums.
  static constexpr int kFoundBytes = kWindowChannels * static_cast<int>(sizeof(GradientSums));
  static constexpr int kBitsChunks = (kFromBits ? kPlaces * kBitsOfPlace : kFoundBytes) / kVectorBytes;
  static_assert(kBitsChunks * kVectorBytes >= kFoundBytes);
  static constexpr int kDroppedChunks = 8;
  static constexpr int kChunks =
      kWeightChunks + kGroups * (Its::kStageChunks + Its::kResultChunks + kBitsChunks) + kDroppedChunks;
  static constexpr int kBytes = kChunks * kVectorBytes + static_cast<int>(sizeof(PassedBarriers));

  uint4* shared;
  __device__ uint4* weights() const { return shared; }
  __device__ uint4* stage(int group) const { return shared + kWeightChunks + group * Its::kStageChunks; }
  __device__ uint4* results(int group) const { return stage(kGroups) + group * Its::kResultChunks; }
  __device__ uint4* bits(int group) const { return results(kGroups) + group * kBitsChunks; }
  __device__ uint4* dropped() const { return bits(kGroups); }
  __device__ PassedBarriers& barriers() const { return *reinterpret_cast<PassedBarriers*>(dropped() + kDroppedChunks); }
};

template <typename Tile, bool kFromBits>
class Passed {
  using Its = Sizes<Tile>;
  using Shared = Layout<Tile, kFromBits>;
  static constexpr int kResultBytes = Its::kResultChunks * kVectorBytes;
  static constexpr int kCopiedBytes = Tile::kInputRows * Tile::kWide * Tile::kPlaceBytes;

 public:
  __device__ Passed(const PassedWork& work, const Shared& shared, int group)
      : work_(work),
        shared_(shared),
        barriers_(shared.barriers().of[group]),
        group_(group),
        warp_(static_cast<int>(threadIdx.x) / 32 % 4),
        lane_(static_cast<int>(threadIdx.x) % 32),
        stage_(shared.stage(group)),
        results_(shared.results(group)) {}

  // One thread, for all tiles of a group.
  __device__ void copy_tiles() const {
    if (group_ == 0) load_weights();
    const int count = tiles_of_block(work_.grid);
    unsigned is_odd = 0;
    if (group_ < count) load_input(place_of(group_));
    for (int number = group_; number < count; number += kGroups, is_odd ^= 1) {
      const PicturePlace place = place_of(number);
      if (work_.adds) {
        load_results(work_.add, place, &barriers_.added);
        wait_for(&barriers_.taken, is_odd);
      }
      load_results(work_.values, place, &barriers_.read);
      wait_for(&barriers_.used, is_odd);
      if (number + kGroups < count) load_input(place_of(number + kGroups));
      wait_for(&barriers_.computed, is_odd);
      store_tile(work_.y, place, results_);
      wait_for_stores<0>();
    }
  }

  // All threads of a group.
  __device__ void compute_tiles() {
    load_channels();
    const int count = tiles_of_block(work_.grid);
    unsigned is_odd = 0;
    wait_for(&shared_.barriers().weights, 0);
    if (group_ == 1) come_to(kOfTurn, kAll);
    for (int number = group_; number < count; number += kGroups, is_odd ^= 1) {
      const InPicture<Tile> in_picture(work_.grid, place_of(number));
      Bits bits;
      if constexpr (kFromBits) load_bits(bits, place_of(number));
      begin(is_odd);
      if constexpr (kFromBits) keep_bits(bits);
      wait_for(&barriers_.filled, is_odd);
      multiply_in_turn<Tile, true>(products_, group_, number + 1 == count, shared_.weights(), stage_, Tile::kMostTaps);
      arrive(&barriers_.used);
      wait_for(&barriers_.read, is_odd);
      if (in_picture.has_all()) {
        finish<true>(in_picture);
      } else {
        finish<false>(in_picture);
      }
      show_to_tensor_cores();
      arrive(&barriers_.computed);
    }
    write_sums();
  }

 private:
  __device__ PicturePlace place_of(int number) const {
    return work_.grid.place_of<Tile>(static_cast<int>(blockIdx.x) + number * static_cast<int>(gridDim.x));
  }

  __device__ void load_weights() const {
    CopyBarrier* const barrier = &shared_.barriers().weights;
    announce(barrier, Tile::kMostTaps * Its::kTapBytes);
    for (int tap = 0; tap < Tile::kMostTaps; ++tap) {
      load_tile(shared_.weights() + tap * Its::kTapChunks, work_.weight, {0, 0, tap, 0}, barrier);
    }
  }
  __device__ void load_input(const PicturePlace& place) const {
    announce(&barriers_.filled, kCopiedBytes);
    load_tile(stage_, work_.gradient, {place.picture, place.row - Tile::kMargin, place.column - Tile::kMargin, 0},
              &barriers_.filled);
  }
  __device__ void load_results(const CUtensorMap& from, const PicturePlace& place, CopyBarrier* barrier) const {
    announce(barrier, kResultBytes);
    load_tile(results_, from, place, barrier);
  }

  // The tensor cores leave a thread results of two channels.
  __device__ int channel(int i) const { return warp_ * 16 + i * 8 + lane_ / 4; }
  __device__ void load_channels() {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      center_[i] = work_.kept.center[channel(i)];
      scale_[i] = work_.kept.scale[channel(i)];
      offset_[i] = work_.kept.offset[channel(i)];
    }
  }

  // Those of a tile that a thread brings, zeros outside of the picture: asked for early, so that nobody waits for them.
  using Bits = uint2[2];
  __device__ void load_bits(Bits& bits, const PicturePlace& place) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int number = number_of_bits(i);
      const int row = place.row + number / Tile::kColumns, column = place.column + number % Tile::kColumns;
      const bool is_there = number < Shared::kPlaces && row < work_.grid.height && column < work_.grid.width;
      const std::int64_t at =
          (static_cast<std::int64_t>(place.picture) * work_.grid.height + row) * work_.grid.width + column;
      bits[i] = is_there ? reinterpret_cast<const uint2*>(work_.positive)[at] : uint2{};
    }
  }
  // Where all see them after the group's turn.
  __device__ void keep_bits(const Bits& bits) const {
    auto* const to = reinterpret_cast<uint2*>(shared_.bits(group_));
    meet(kOfGroup + group_, kGroupThreads);  // all have read the last ones
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (number_of_bits(i) < Shared::kPlaces) to[number_of_bits(i)] = bits[i];
    }
  }
  __device__ int number_of_bits(int i) const {
    return warp_ * 32 + lane_ + i * kGroupThreads;
  }
  // Two bytes, for the channels of a warp.
  __device__ unsigned bits_of(int row, int column) const {
    const int number = row * Tile::kColumns + column;
    return reinterpret_cast<const std::uint16_t*>(shared_.bits(group_))[number * Shared::kBitsOfPlace / 2 + warp_];
  }

  __device__ static int thread() {
    return computed_again(static_cast<int>(threadIdx.x));
  }
  __device__ uint4* results_at(int thread, int pair) const {
    return results_ + result_chunk<Tile>(thread, pair, static_cast<int>(shared_.dropped() - results_));
  }

  // What the products are added to.
  __device__ void begin(unsigned is_odd) {
    if (!work_.adds) {
      clear<Tile>(products_);
      return;
    }
    wait_for(&barriers_.added, is_odd);
    const int thread = this->thread();
#pragma unroll
    for (int pair = 0; pair < Its::kBlocks; ++pair) {
      unsigned added[4];
      load_transposed(added, results_at(thread, pair));
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float2 two = __bfloat1622float2(values_of(added[i]));
        float* const to = four_of<Tile>(products_, pair * 2 + i / 2) + i % 2 * 2;
        to[0] = two.x;
        to[1] = two.y;
      }
    }
    arrive(&barriers_.taken);
  }

  // kAll: all of the tile lies in the picture.
  template <bool kAll>
  __device__ void finish(const InPicture<Tile>& in_picture) {
    const int thread = this->thread();
    unsigned next[4];
    load_transposed(next, results_at(thread, 0));
#pragma unroll
    for (int pair = 0; pair < Its::kBlocks; ++pair) {
      unsigned values[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) values[i] = next[i];
      if (pair + 1 < Its::kBlocks) load_transposed(next, results_at(thread, pair + 1));
#pragma unroll
      for (int i = 0; i < 2; ++i) pass<kAll>(thread, pair * 2 + i, in_picture, values[i * 2], values[i * 2 + 1]);
      store_transposed(results_at(thread, pair), values);
    }
  }

  // Of a block, for both channels: from values to results.
  template <bool kAll>
  __device__ void pass(int thread, int block, const InPicture<Tile>& in_picture, unsigned& first, unsigned& second) {
    const auto places = two_places<Tile>(thread, block);
    const float* const four = four_of<Tile>(products_, block);
    unsigned bits[2] = {};
    bool is_there[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      is_there[i] = places.has_result && (kAll || in_picture.has(places.row, places.column + i));
      if constexpr (kFromBits) {
        if (is_there[i]) bits[i] = bits_of(places.row, places.column + i) >> (thread >> 2 & 7);
      }
    }
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      unsigned& pair = c == 0 ? first : second;
      const float2 values = __bfloat1622float2(values_of(pair));
      const float away[2] = {is_there[0] ? values.x - center_[c] : 0, is_there[1] ? values.y - center_[c] : 0};
      float gradient[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const bool passes =
            kFromBits ? (bits[i] >> c * 8 & 1U) != 0 : passes_relu(fmaf(away[i], scale_[c], offset_[c]));
        gradient[i] = is_there[i] && passes ? four[c * 2 + i] : 0;
      }
      pair = packed(gradient[0], gradient[1]);
      const float2 rounded = __bfloat1622float2(values_of(pair));  // as whoever reads them
      sums_[c] += rounded.x + rounded.y;
      sums_of_products_[c] = fmaf(rounded.x, away[0], fmaf(rounded.y, away[1], sums_of_products_[c]));
    }
  }

  // Of the threads with the same channels, then of both groups.
  __device__ void write_sums() {
    auto* const found = reinterpret_cast<GradientSums*>(shared_.bits(group_));
    meet(kOfGroup + group_, kGroupThreads);  // all have read their bits
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      GradientSums own{sums_[c], sums_of_products_[c]};
#pragma unroll
      for (int distance = 1; distance < 4; distance *= 2) {
        own.gradient += __shfl_xor_sync(kAllLanes, own.gradient, distance);
        own.product += __shfl_xor_sync(kAllLanes, own.product, distance);
      }
      if (lane_ % 4 == 0) found[channel(c)] = own;
    }
    meet(kOfAll, kAll);
    const int thread = static_cast<int>(threadIdx.x);
    if (thread >= kWindowChannels) return;
    const auto* const others = reinterpret_cast<const GradientSums*>(shared_.bits(1));
    work_.sums[blockIdx.x * kWindowChannels + thread] = {found[thread].gradient + others[thread].gradient,
                                                         found[thread].product + others[thread].product};
  }

  const PassedWork& work_;
  const Shared shared_;
  GroupBarriers& barriers_;
  const int group_, warp_, lane_;
  uint4 *const stage_, *const results_;
  Sums<Tile> products_;
  float center_[2], scale_[2], offset_[2];
  float sums_[2] = {}, sums_of_products_[2] = {};
};

template <typename Tile, bool kFromBits>
__global__ void __launch_bounds__(kWindowThreads, 1) passed_kernel(const __grid_constant__ PassedWork work) {
  extern __shared__ __align__(1024) uint4 memory[];
  const Layout<Tile, kFromBits> shared{memory};
  PassedBarriers& barriers = shared.barriers();
  if (threadIdx.x == 0) {
    make_barrier(&barriers.weights);
    for (GroupBarriers& of_group : barriers.of) {
      for (CopyBarrier* const barrier : {&of_group.filled, &of_group.added, &of_group.read}) make_barrier(barrier);
      for (CopyBarrier* const barrier : {&of_group.used, &of_group.taken, &of_group.computed}) {
        make_barrier(barrier, kGroupThreads);
      }
    }
    show_barriers();
  }
  __syncthreads();
  wait_for_earlier_work();
  const int group = __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / kGroupThreads, 0);
  if (group < kGroups) {
    more_registers<240>();
    Passed<Tile, kFromBits>(work, shared, group).compute_tiles();
  } else {
    fewer_registers<24>();
    const int warp = (static_cast<int>(threadIdx.x) - kAll) / 32;
    if (warp < kGroups && threadIdx.x % 32 == 0) Passed<Tile, kFromBits>(work, shared, warp).copy_tiles();
  }
}

template <typename Tile>
cudaError_t map_all(PassedWork& work, const WindowPassed& passed, const PictureSizes& sizes) {
  const WindowConvolution& convolution = passed.convolution;
  const PictureSizes weights{1, kWindowChannels, Tile::kMostTaps, kWindowChannels};
  cudaError_t status = map_pictures(work.gradient, convolution.x, sizes, Tile::kInputRows, Tile::kWide);
  if (status == cudaSuccess) status = map_pictures(work.weight, convolution.weight, weights, kWindowChannels, 1);
  const auto map_results = [&](CUtensorMap& map, const void* values) {
    if (status == cudaSuccess) status = map_pictures(map, values, sizes, kTileRows, Tile::kColumns);
  };
  map_results(work.values, passed.values);
  map_results(work.y, convolution.y);
  if (work.adds) map_results(work.add, passed.add);
  return status;
}

template <typename Tile, bool kFromBits>
cudaError_t launch_kernel(const PassedWork& work, const Launch& launch) {
  return start(passed_kernel<Tile, kFromBits>,
               {blocks_for(work.grid, launch.device), kWindowThreads, Layout<Tile, kFromBits>::kBytes}, launch, work);
}

template <typename Tile>
cudaError_t launch_tiles(const WindowPassed& passed, const Launch& launch) {
  const PictureSizes sizes = sizes_of(passed.convolution);
  PassedWork work{};
  work.grid = tiles_of<Tile>(sizes);
  work.kept = passed.kept;
  work.positive = passed.positive;
  work.sums = passed.sums;
  work.adds = passed.add != nullptr;
  const cudaError_t status = map_all<Tile>(work, passed, sizes);
  if (status != cudaSuccess) return status;
  return passed.positive != nullptr ? launch_kernel<Tile, true>(work, launch)
                                    : launch_kernel<Tile, false>(work, launch);
}

}  // namespace

cudaError_t launch_window_passed(const WindowPassed& work, const Launch& launch) {
  return by_width(work.convolution.width, [&](auto tile) { return launch_tiles<decltype(tile)>(work, launch); });
}

}  // namespace lockstep::kernels::cuda
