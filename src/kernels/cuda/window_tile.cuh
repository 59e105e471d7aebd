// Tiles of pictures, and the products of what a window sees of them. What lies round a tile of places is copied into
// shared memory once; there the places of a row lie one after the other, as many more of them than the tile has as the
// window needs, so that for each place of the window the tensor cores need only begin to read further on. They multiply
// weights and places, not places and weights: 64 channels are too few columns to keep them busy.
#pragma once
#include "bulk_copy.cuh"
#include "group_barriers.cuh"
#include "launch.cuh"
#include "matrix_map.h"
#include "warpgroup.cuh"

namespace lockstep::kernels::cuda {

constexpr int kTileRows = kWindowTileRows;
constexpr int kGroups = 2, kGroupThreads = 128;  // that compute; one more group copies
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

template <typename Tile>
struct Sizes {
  // Places of one product, of two for a tile. In each row some are computed that are not needed.
  static constexpr int kHalf = kTileRows * Tile::kWide / 2;
  static constexpr int kBlocks = kHalf / 8;  // of places that a thread has two of, for each of two channels
  static constexpr int kPlaceChunks = Tile::kPlaceBytes / kVectorBytes;
  static constexpr int kTapBytes = kWindowChannels * Tile::kPlaceBytes, kTapChunks = kTapBytes / kVectorBytes;
  static constexpr int kStageChunks = Tile::kStageBytes / kVectorBytes;
  static constexpr int kResultChunks = kTileRows * Tile::kColumns * kSwizzledBytes / kVectorBytes;
  static_assert(kHalf * Tile::kPlaceBytes % 1024 == 0 && kHalf % 8 == 0 && kResultChunks + 8 <= kStageChunks);
};
template <typename Tile>
using Sums = float[2][Sizes<Tile>::kHalf / 2];

// The four sums of a thread in a block: two places of one channel, and of the channel eight further on.
template <typename Tile>
__device__ float* four_of(Sums<Tile>& sums, int block) {
  constexpr int kBlocks = Sizes<Tile>::kBlocks;
  return sums[block / kBlocks] + block % kBlocks * 4;
}

// How pictures are divided into tiles.
struct TileGrid {
  Divider rows, columns;  // of tiles, of a picture
  int tiles = 0;
  int height = 0, width = 0;

  // Where a tile begins.
  template <typename Tile>
  __device__ PicturePlace place_of(int tile) const {
    const Quotient by_column = columns(tile), by_row = rows(by_column.whole);
    return {by_row.whole, by_row.rest * kTileRows, by_column.rest * Tile::kColumns, 0};
  }
};
template <typename Tile>
TileGrid tiles_of(const PictureSizes& result) {
  const int rows = (result.rows + kTileRows - 1) / kTileRows;
  const int columns = (result.columns + Tile::kColumns - 1) / Tile::kColumns;
  return {.rows = Divider(rows),
          .columns = Divider(columns),
          .tiles = result.pictures * rows * columns,
          .height = result.rows,
          .width = result.columns};
}
inline int blocks_for(const TileGrid& grid, const Device& device) {
  return grid.tiles < device.multiprocessors ? grid.tiles : device.multiprocessors;
}
// Of the tiles of all blocks, which take them in turns.
__device__ inline int tiles_of_block(const TileGrid& grid) {
  const int blocks = static_cast<int>(gridDim.x);
  return (grid.tiles - static_cast<int>(blockIdx.x) + blocks - 1) / blocks;
}

// The same number, of which the compiler does not know that: what follows from it is computed in each turn of a loop,
// and does not take registers in between.
__device__ inline int computed_again(int value) {
  asm volatile("" : "+r"(value));
  return value;
}

// The place `after` another one, which the compiler knows where loops are unrolled; so it knows most of this too.
// kMost: the greatest `after`.
template <typename Tile, int kMost>
struct PlaceAfter {
  int row, column;
  bool has_result;  // also the next one, if this place has an even number
  __device__ PlaceAfter(int place, int after) : row(place / Tile::kWide), column(place % Tile::kWide + after) {
    if (place % Tile::kWide + kMost >= Tile::kWide && column >= Tile::kWide) ++row, column -= Tile::kWide;
    has_result = place % Tile::kWide + kMost < Tile::kColumns || column < Tile::kColumns;
  }
};
// The first of two places that a thread has results of in a block. Both are in one row.
template <typename Tile>
__device__ auto two_places(int thread, int block) {
  return PlaceAfter<Tile, 6>(block * 8, (thread & 3) * 2);
}

// How much of a tile lies in the picture.
template <typename Tile>
struct InPicture {
  int rows, columns;
  __device__ InPicture(const TileGrid& grid, const PicturePlace& place)
      : rows(grid.height - place.row), columns(grid.width - place.column) {}
  __device__ bool has_all() const { return rows >= kTileRows && columns >= Tile::kColumns; }
  __device__ bool has(int row, int column) const { return row < rows && column < columns; }
};

// Where a thread's row of results lies among those of the tile: of two blocks, one of the rows of four matrices of
// eight places by eight channels, as load_transposed() and store_transposed() take them. What belongs to no place goes
// to eight chunks from `dropped` on.
template <typename Tile>
__device__ int result_chunk(int thread, int pair, int dropped) {
  const int chunk = (thread >> 4 & 6) + (thread >> 3 & 1), in_eight = thread & 7;
  const PlaceAfter<Tile, 15> place(pair * 16, in_eight + (thread >> 1 & 8));
  return place.has_result ? swizzled(place.row * Tile::kColumns + place.column, chunk) : dropped + in_eight;
}

// Barriers: where the threads of a group meet, where groups wait for their turn, and where both meet.
constexpr int kOfGroup = 1, kOfTurn = kOfGroup + kGroups, kOfAll = kOfTurn + kGroups;

template <typename Tile>
__device__ void clear(Sums<Tile>& sums) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (float& sum : sums[half]) sum = 0;
  }
}

// Starts all products of a tile, which are added. For a gradient the window is turned round, and inputs and outputs
// change their roles.
template <typename Tile, bool kGradient>
__device__ void multiply(Sums<Tile>& sums, const uint4* weights, const uint4* stage, int taps) {
  using Its = Sizes<Tile>;
  constexpr int kSteps = Its::kPlaceChunks / 2;
  const std::uint64_t places = matrix_at<Tile::kPlaceBytes>(stage);
  const std::uint64_t all_weights = matrix_at<Tile::kPlaceBytes>(weights);
  begin_products(sums[0]);
  begin_products(sums[1]);
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

// A group waits for its turn, so that it has the tensor cores while the other one does what is before and after its
// products, and has them all when this ends. `last`: of all tiles of the block.
template <typename Tile, bool kGradient>
__device__ void multiply_in_turn(Sums<Tile>& sums, int group, bool last, const uint4* weights, const uint4* stage,
                                 int taps) {
  meet(kOfTurn + group, kAll);
  multiply<Tile, kGradient>(sums, weights, stage, taps);
  if (!last) come_to(kOfTurn + (1 - group), kAll);
  wait_for_products<0>();
  hold(sums[0]);
  hold(sums[1]);
}

inline PictureSizes sizes_of(const WindowConvolution& work) {
  return {work.samples, work.height, work.width, kWindowChannels};
}

// Calls body(Tile()) with the tile that suits pictures of that width.
template <typename Body>
auto by_width(int width, const Body& body) {
  return window_tile_columns(width) == 28 ? body(Square<28>()) : body(Square<32>());
}

}  // namespace lockstep::kernels::cuda
