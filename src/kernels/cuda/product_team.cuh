// How a team of threads multiplies rows and weights by the tensor cores, with all that follows done before the result
// leaves the multiprocessor. It computes one tile of the result after another, while the tiles that the next ones need
// are copied; two teams share a multiprocessor, so that one has the tensor cores while the other one finishes a tile.
#pragma once
#include "bulk_copy.cuh"
#include "launch.cuh"
#include "pairs.cuh"
#include "warpgroup.cuh"

namespace lockstep::kernels::cuda {

using Then = RowsProduct::Then;

constexpr int kTileRows = kProductTileRows;
constexpr int kTileInputs = kSwizzledBytes / 2;     // also the outputs of a piece of a tile
constexpr int kTeamThreads = 256, kGroupRows = 64;  // of the two groups of four warps
constexpr int kTeams = 2;
constexpr int kRowChunks = kSwizzledBytes / kVectorBytes;
constexpr int kPieceChunks = kTileRows * kRowChunks, kPieceBytes = kPieceChunks * kVectorBytes;
static_assert(kTeamThreads / 128 * kGroupRows == kTileRows);

constexpr int kMostStages = 4, kMostPieces = 3;
constexpr int kTeamBarriers = kMostStages + kMostPieces;
constexpr int kBarrierBytes = (kTeams * kTeamBarriers + 1) * static_cast<int>(sizeof(CopyBarrier));

enum class Adds { kNothing, kAll, kFew };

// How a block uses its shared memory: first the weights, if it keeps all those of a column of tiles; then for each team
// a ring of input tiles, with their weights if they are not kept; then for each team pieces of the result, which at
// first hold what is added to it; then the barriers.
struct TeamPlan {
  bool keeps_weights;
  int stages, pieces;
};

struct TeamWork {
  CUtensorMap x[2], weight[2], add, y;
  RowsProduct product;
  TeamPlan plan;
  Divider columns;  // of tiles
};

// What a team copies next: for a tile of the result, the part of that number.
struct Cursor {
  int tile, part;
};

// Where a tile begins.
struct Place {
  int row, output;
};

// Where in a ring a team is.
struct Turn {
  int slot = 0;
  unsigned is_odd = 0;
  __device__ void advance(int slots) {
    if (++slot < slots) return;
    slot = 0;
    is_odd ^= 1;
  }
};

// What all lanes know, told so that the compiler sees it.
__device__ inline int first_of_warp(int value) {
  return __shfl_sync(kAllLanes, value, 0);
}

template <int kOutputs, Then kThen, Adds kAdds>
class Team {
  static constexpr int kPieces = kOutputs / kTileInputs;  // of a tile
  static constexpr int kWeightChunks = kOutputs * kRowChunks;
  static constexpr bool kOutputMajor = RowsProduct::is_output_major(kThen);

 public:
  __device__ Team(const TeamWork& work, uint4* shared)
      : work_(work),
        product_(work.product),
        team_(first_of_warp(static_cast<int>(threadIdx.x) / kTeamThreads)),
        thread_(static_cast<int>(threadIdx.x) % kTeamThreads),
        group_(first_of_warp(thread_ / 128)),
        lane_(thread_ % 32),
        first_steps_(product_.terms[0].inputs / kTileInputs),
        steps_(first_steps_ + product_.terms[1].inputs / kTileInputs),
        columns_(static_cast<int>(work.columns.divisor)),
        tiles_(static_cast<int>((product_.rows + kTileRows - 1) / kTileRows) * columns_),
        stage_chunks_(kPieceChunks + (work.plan.keeps_weights ? 0 : kWeightChunks)),
        weights_(shared),
        ring_(shared + (work.plan.keeps_weights ? steps_ * kWeightChunks : 0) +
              team_ * work.plan.stages * stage_chunks_),
        pieces_(ring_ + (kTeams - team_) * work.plan.stages * stage_chunks_ + team_ * work.plan.pieces * kPieceChunks),
        barriers_(reinterpret_cast<CopyBarrier*>(pieces_ + (kTeams - team_) * work.plan.pieces * kPieceChunks) +
                  team_ * kTeamBarriers) {}

  __device__ void run() {
    const bool keeps = work_.plan.keeps_weights;
    make_barriers();
    wait_for_earlier_work();
    Cursor copied{first_tile(), 0}, added = copied;
    if (thread_ == 0) load_first(copied, added);
    if (keeps) wait_for(of_weights(), 0);
    Turn stage, piece;
    for (int tile = first_tile(); tile < tiles_; tile += tile_step()) {
      const Place place = place_of(tile);
      begin(place);
      int used = 0;  // the stage before
      for (int step = 0; step < steps_; ++step) {
        wait_for(barriers_ + stage.slot, stage.is_odd);
        if (step > 0) {
          meet();
          if (thread_ == 0) load_next(copied, used);
        }
        used = stage.slot;
        const uint4* const x = ring_ + used * stage_chunks_;
        add_products(x, keeps ? weights_ + step * kWeightChunks : x + kPieceChunks);
        stage.advance(work_.plan.stages);
      }
      finish(place, piece, added, copied, used);
    }
    if (thread_ == 0) wait_for_stores<0>();
  }

 private:
  // Where weights are kept all tiles of a block are of one column.
  __device__ int first_tile() const {
    const int block = static_cast<int>(blockIdx.x);
    if (!work_.plan.keeps_weights) return block * kTeams + team_;
    return (block / columns_ * kTeams + team_) * columns_ + block % columns_;
  }
  __device__ static int tile_step() { return static_cast<int>(gridDim.x) * kTeams; }
  __device__ static void advance(Cursor& cursor, int parts) {
    if (++cursor.part < parts) return;
    cursor.part = 0;
    cursor.tile += tile_step();
  }
  __device__ Place place_of(int tile) const {
    const Quotient row = work_.columns(tile);
    return {row.whole * kTileRows, row.rest * kOutputs};
  }
  // All threads of the team.
  __device__ void meet() const { asm volatile("bar.sync %0, %1;" ::"r"(team_ + 1), "n"(kTeamThreads) : "memory"); }

  __device__ CopyBarrier* of_weights() const { return barriers_ + (kTeams - team_) * kTeamBarriers; }
  __device__ void make_barriers() const {
    if (thread_ == 0) {
      for (int i = 0; i < kTeamBarriers; ++i) make_barrier(barriers_ + i);
      if (team_ == 0) make_barrier(of_weights());
      show_barriers();
    }
    __syncthreads();
  }

  __device__ void load_first(Cursor& copied, Cursor& added) const {
    if (work_.plan.keeps_weights && team_ == 0) {
      announce(of_weights(), steps_ * kWeightChunks * kVectorBytes);
      const int output = place_of(copied.tile).output;
      for (int step = 0; step < steps_; ++step) {
        load_weights(step, output, weights_ + step * kWeightChunks, of_weights());
      }
    }
    for (int i = 0; i < work_.plan.stages; ++i) load_next(copied, i);
    if (kAdds == Adds::kAll) {
      for (int i = 0; i < kMostPieces - 1; ++i) load_added(added, i);
    }
  }

  __device__ int term_of(int step) const { return step < first_steps_ ? 0 : 1; }
  __device__ int input_of(int step) const { return (step < first_steps_ ? step : step - first_steps_) * kTileInputs; }

  __device__ void load_next(Cursor& cursor, int slot) const {
    if (cursor.tile >= tiles_) return;
    const Place place = place_of(cursor.tile);
    uint4* const to = ring_ + slot * stage_chunks_;
    announce(barriers_ + slot, stage_chunks_ * kVectorBytes);
    load_tile(to, work_.x[term_of(cursor.part)], input_of(cursor.part), place.row, barriers_ + slot);
    if (!work_.plan.keeps_weights) load_weights(cursor.part, place.output, to + kPieceChunks, barriers_ + slot);
    advance(cursor, steps_);
  }

  __device__ void load_weights(int step, int output, uint4* to, CopyBarrier* barrier) const {
    const CUtensorMap& from = work_.weight[term_of(step)];
    if (kOutputMajor) {
      load_tile(to, from, input_of(step), output, barrier);
    } else {
      // Outputs by blocks of kTileInputs, in which an input has a row.
#pragma unroll
      for (int i = 0; i < kPieces; ++i) {
        load_tile(to + i * kTileInputs * kRowChunks, from, output + i * kTileInputs, input_of(step), barrier);
      }
    }
  }

  __device__ void load_added(Cursor& cursor, int slot) const {
    if (cursor.tile >= tiles_) return;
    const Place place = place_of(cursor.tile);
    CopyBarrier* const barrier = barriers_ + kMostStages + slot;
    announce(barrier, kPieceBytes);
    load_tile(pieces_ + slot * kPieceChunks, work_.add, place.output + cursor.part * kTileInputs, place.row, barrier);
    advance(cursor, kPieces);
  }

  // The tensor cores leave a thread values of two rows, eight rows apart: in each eight columns two side by side.
  __device__ int row() const {
    return thread_ / 32 * 16 + lane_ / 4;
  }
  __device__ int quarter() const {
    return lane_ % 4;
  }

  __device__ void begin(const Place& place) {
#pragma unroll
    for (int i = 0; i < kOutputs / 8; ++i) {
      const float2 bias = bias_at(place.output + i * 8 + quarter() * 2);
      sums_[4 * i] = sums_[4 * i + 2] = bias.x;
      sums_[4 * i + 1] = sums_[4 * i + 3] = bias.y;
    }
    if (kThen == Then::kPass) load_passed(place);
  }
  __device__ void load_passed(const Place& place) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const bool is_there = has_row(place, half);
      const unsigned* const words = reinterpret_cast<const unsigned*>(product_.passed) + word_of(place, half);
#pragma unroll
      for (int i = 0; i < kPieces; ++i) {
        passed_[half][i] = is_there ? reinterpret_cast<const uint2*>(words)[i] : uint2{};
      }
    }
  }
  __device__ bool has_row(const Place& place, int half) const {
    return place.row + row() + 8 * half < product_.rows;
  }
  // Of the bits: the first one of the thread's row.
  __device__ std::int64_t word_of(const Place& place, int half) const {
    return (static_cast<std::int64_t>(place.row + row() + 8 * half) * product_.outputs + place.output) / 32;
  }
  __device__ float2 bias_at(int output) const {
    if (kThen == Then::kPass) return {};
    if (kThen != Then::kNothing) return *reinterpret_cast<const float2*>(product_.bias + output);
    if (product_.late_bias == nullptr) return {};
    return __bfloat1622float2(
        *reinterpret_cast<const __nv_bfloat162*>(static_cast<const __nv_bfloat16*>(product_.late_bias) + output));
  }

  __device__ void add_products(const uint4* x, const uint4* weights) {
    const uint4* const rows = x + group_ * kGroupRows * kRowChunks;
    begin_products(sums_);
#pragma unroll
    for (int k = 0; k < kTileInputs / 16; ++k) {
      const std::uint64_t matrix = kOutputMajor
                                       ? matrix_at(weights + 2 * k)
                                       : matrix_at(weights + 16 * k * kRowChunks, kTileInputs * kSwizzledBytes);
      add_product<kOutputs, !kOutputMajor>(sums_, matrix_at(rows + 2 * k), matrix);
    }
    end_products(sums_);
  }

  __device__ void finish(const Place& place, Turn& turn, Cursor& added, Cursor& copied, int used) const {
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      uint4* const values = pieces_ + turn.slot * kPieceChunks;
      if (kAdds == Adds::kAll) {
        wait_for(barriers_ + kMostStages + turn.slot, turn.is_odd);
      } else {
        if (thread_ == 0) wait_for_stores_but(work_.plan.pieces - 1);
        meet();
      }
      finish_piece(place, piece, reinterpret_cast<unsigned*>(values));
      show_to_tensor_cores();
      meet();
      if (thread_ == 0) {
        if (piece == 0) load_next(copied, used);
        store_tile(work_.y, place.output + piece * kTileInputs, place.row, values);
        if (kAdds == Adds::kAll) {
          wait_for_stores<1>();
          load_added(added, turn.slot == 0 ? kMostPieces - 1 : turn.slot - 1);
        }
      }
      if (kThen == Then::kPass) sum_up(place, piece, values);
      turn.advance(work_.plan.pieces);
    }
  }
  __device__ static void wait_for_stores_but(int pending) {
    if (pending == 0) {
      wait_for_stores<0>();
    } else {
      wait_for_stores<1>();
    }
  }

  // A piece has two words of bits for each row, and eight blocks of eight columns.
  __device__ void finish_piece(const Place& place, int piece, unsigned* values) const {
    constexpr int kBlocks = kTileInputs / 8, kEightRows = 8 * kSwizzledBytes / 4;
    const int first = (row() * kRowChunks + lane_ / 4) * 4 + quarter();  // the row's number in its group is lane_ / 4
    unsigned added[2][kBlocks] = {};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const __nv_bfloat16* const few = few_at(place, piece, half);
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
        if (kAdds == Adds::kAll) added[half][block] = values[(first ^ block * 4) + half * kEightRows];
        if (kAdds == Adds::kFew && few != nullptr) added[half][block] = pair_at(few + block * 8);
      }
    }
    unsigned bits[2][2][2] = {};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
        const int word = block / 4;
        const float* const sums = sums_ + (piece * kBlocks + block) * 4 + half * 2;
        unsigned pair = packed(sums[0], sums[1]);
        if (kAdds != Adds::kNothing) pair = sum_of(pair, added[half][block]);
        if (kThen == Then::kRelu) pair = keep_positive(pair, block % 4, bits[half][word]);
        if (kThen == Then::kPass) {
          const uint2 passed = passed_[half][piece];
          pair &= passed_mask((word == 0 ? passed.x : passed.y) >> 2 * quarter(), block % 4);
        }
        values[(first ^ block * 4) + half * kEightRows] = pair;
      }
    }
    if (kThen == Then::kRelu) write_bits(place, piece, bits);
  }

  // Null: nothing is added to the row.
  __device__ const __nv_bfloat16* few_at(const Place& place, int piece, int half) const {
    if (kAdds != Adds::kFew || !has_row(place, half)) return nullptr;
    const std::int64_t few = product_.places.few_of(place.row + row() + 8 * half);
    const int output = place.output + piece * kTileInputs + quarter() * 2;
    return few < 0 ? nullptr : static_cast<const __nv_bfloat16*>(product_.add) + few * product_.outputs + output;
  }

  // Four threads have eight bits each of four words; each gets one of the words.
  __device__ void write_bits(const Place& place, int piece, const unsigned (&bits)[2][2][2]) const {
    const bool second_row = (lane_ & 2) != 0, second_word = (lane_ & 1) != 0;
    unsigned words[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const unsigned lower = word_of_pairs(bits[0][i], quarter()), upper = word_of_pairs(bits[1][i], quarter());
      words[i] = (second_row ? upper : lower) | __shfl_xor_sync(kAllLanes, second_row ? lower : upper, 2);
    }
    const unsigned word =
        (second_word ? words[1] : words[0]) | __shfl_xor_sync(kAllLanes, second_word ? words[0] : words[1], 1);
    const int half = second_row ? 1 : 0;
    if (!has_row(place, half)) return;
    unsigned* const to = reinterpret_cast<unsigned*>(product_.positive) + word_of(place, half);
    to[2 * piece + (second_word ? 1 : 0)] = word;
  }

  // Over the rows of a piece, by the tensor cores: ones times its values. A warp has eight columns. Rows that are not
  // there are zeros.
  __device__ void sum_up(const Place& place, int piece, const uint4* values) const {
    constexpr unsigned kOnes = 0x3f803f80U;
    const int block = thread_ / 32;
    float sums[4] = {};
#pragma unroll
    for (int row = 0; row < kTileRows; row += 32) {
      unsigned of_rows[4];
      load_transposed(of_rows, values + swizzled(row + lane_, block));
      add_small_product(sums, kOnes, of_rows[0], of_rows[1]);
      add_small_product(sums, kOnes, of_rows[2], of_rows[3]);
    }
    if (lane_ >= 4) return;
    const std::int64_t row_tiles = (product_.rows + kTileRows - 1) / kTileRows;
    const std::int64_t output = place.output + piece * kTileInputs + block * 8 + lane_ * 2;
    float* const to = product_.sums + output * row_tiles + place.row / kTileRows;
    to[0] = sums[0];
    to[row_tiles] = sums[1];
  }

  const TeamWork& work_;
  const RowsProduct& product_;
  const int team_, thread_, group_, lane_;
  const int first_steps_, steps_, columns_, tiles_, stage_chunks_;
  uint4 *const weights_, *const ring_, *const pieces_;
  CopyBarrier* const barriers_;
  float sums_[kOutputs / 2];
  uint2 passed_[2][kPieces];
};

}  // namespace lockstep::kernels::cuda
