// Rows times weights by the tensor cores, with all that follows done before the result leaves the multiprocessor. These
// products have few inputs or few outputs: what bounds them is the memory, and each value passes through it once. A
// block computes one tile of the result after another, and copies what the next ones need meanwhile.
#include "async_copy.cuh"
#include "launch.cuh"
#include "pairs.cuh"
#include "warpgroup.cuh"

namespace lockstep::kernels::cuda {
namespace {

using T = __nv_bfloat16;
using Then = RowsProduct::Then;

constexpr int kTileRows = kProductTileRows;
constexpr int kTileInputs = kSwizzledBytes / 2;
constexpr int kBlockThreads = 256, kGroupRows = 64;  // of the two groups of four warps
constexpr int kResidents = 2;                        // blocks of a multiprocessor
constexpr int kChunkValues = 8;                      // of 16 bytes
constexpr int kRowChunks = kTileInputs / kChunkValues;
static_assert(kBlockThreads / 128 * kGroupRows == kTileRows);

// What a block computes or copies next: an input tile of a tile of the result.
struct Cursor {
  int tile, step;
};

template <int kOutputs, Then kThen, bool kAdds>
class Block {
  static constexpr int kStages = kOutputs == 64 ? 4 : 3;
  static constexpr int kXChunks = kTileRows * kRowChunks, kWeightChunks = kOutputs * kRowChunks;
  static constexpr int kStageChunks = kXChunks + kWeightChunks;
  static constexpr int kPartValues = 4 * kChunkValues;  // of a row: vectors of four threads
  static constexpr int kVectorParts = kOutputs / kPartValues;

 public:
  static constexpr int kSharedBytes = kStages * kStageChunks * kVectorBytes + 1024;  // more, for the alignment

  __device__ Block(const RowsProduct& work, uint4* shared)
      : work_(work),
        shared_(reinterpret_cast<uint4*>((reinterpret_cast<std::uintptr_t>(shared) + 1023) / 1024 * 1024)),
        thread_(static_cast<int>(threadIdx.x)),
        lane_(thread_ % 32),
        first_steps_(work.terms[0].inputs / kTileInputs),
        steps_(first_steps_ + work.terms[1].inputs / kTileInputs),
        columns_(work.outputs / kOutputs),
        tiles_(static_cast<int>((work.rows + kTileRows - 1) / kTileRows) * columns_) {}

  __device__ void run() {
    Cursor copied{static_cast<int>(blockIdx.x), 0};
    int stage = 0;
    for (int i = 0; i < kStages - 1; ++i) copy_next(copied, i);
    for (Cursor now{static_cast<int>(blockIdx.x), 0}; now.tile < tiles_; advance(now)) {
      wait_for_groups<kStages - 2>();
      show_to_tensor_cores();
      __syncthreads();
      copy_next(copied, stage == 0 ? kStages - 1 : stage - 1);
      add_products(now.step, shared_ + stage * kStageChunks);
      if (now.step + 1 == steps_) finish(now.tile);
      stage = stage + 1 == kStages ? 0 : stage + 1;
    }
  }

 private:
  __device__ void advance(Cursor& cursor) const {
    if (++cursor.step < steps_) return;
    cursor.step = 0;
    cursor.tile += static_cast<int>(gridDim.x);
  }
  __device__ const RowsProduct::Term& term(int step) const { return work_.terms[step < first_steps_ ? 0 : 1]; }

  __device__ void copy_next(Cursor& cursor, int stage) const {
    if (cursor.tile < tiles_) copy(cursor, shared_ + stage * kStageChunks);
    end_group();
    advance(cursor);
  }

  __device__ void copy(const Cursor& cursor, uint4* to) const {
    const RowsProduct::Term& from = term(cursor.step);
    const int input = (cursor.step < first_steps_ ? cursor.step : cursor.step - first_steps_) * kTileInputs;
    const int output = cursor.tile % columns_ * kOutputs;
    const std::int64_t first_row = static_cast<std::int64_t>(cursor.tile / columns_) * kTileRows;
    constexpr int kRowsAtOnce = kBlockThreads / kRowChunks;
    const int row = thread_ / kRowChunks, chunk = thread_ % kRowChunks;
    uint4* const slot = to + swizzled(row, chunk);  // that of a row kRowsAtOnce behind is as many rows behind
    const T* const x = static_cast<const T*>(from.x) + (first_row + row) * from.inputs + input + chunk * kChunkValues;
    const int rows = static_cast<int>(min(work_.rows - first_row, static_cast<std::int64_t>(kTileRows)));
#pragma unroll
    for (int i = 0; i < kTileRows; i += kRowsAtOnce) {
      if (row + i < rows) {
        copy_async(slot + i * kRowChunks, x + i * from.inputs);
      } else {
        slot[i * kRowChunks] = uint4{};
      }
    }
    const T* const weights = static_cast<const T*>(from.weight);
    if (from.output_major) {
      const T* const first = weights + (output + row) * from.inputs + input + chunk * kChunkValues;
#pragma unroll
      for (int i = 0; i < kOutputs; i += kRowsAtOnce) {
        copy_async(slot + kXChunks + i * kRowChunks, first + i * from.inputs);
      }
    } else {
      // Outputs by blocks of kTileInputs, in which an input has a row.
      const T* const first = weights + (input + row) * work_.outputs + output + chunk * kChunkValues;
#pragma unroll
      for (int i = 0; i < kOutputs; i += kRowsAtOnce) {
        const int block = i / kTileInputs, in = i % kTileInputs;
        copy_async(slot + kXChunks + (block * kTileInputs + in) * kRowChunks,
                   first + in * work_.outputs + block * kTileInputs);
      }
    }
  }

  __device__ void add_products(int step, const uint4* x) {
    const uint4* const rows = x + thread_ / 128 * kGroupRows * kRowChunks;
    if (step == 0) {
#pragma unroll
      for (int i = 0; i < kOutputs / 2; ++i) sums_[i] = 0;
    }
    begin_products(sums_);
    if (term(step).output_major) {
#pragma unroll
      for (int k = 0; k < kTileInputs / 16; ++k) {
        add_product<kOutputs, false>(sums_, matrix_at(rows + 2 * k), matrix_at(x + kXChunks + 2 * k));
      }
    } else {
#pragma unroll
      for (int k = 0; k < kTileInputs / 16; ++k) {
        add_product<kOutputs, true>(sums_, matrix_at(rows + 2 * k),
                                    matrix_at(x + kXChunks + 16 * k * kRowChunks, kTileInputs * kSwizzledBytes));
      }
    }
    end_products(sums_);
  }

  // The tensor cores leave a thread two rows of pairs of values: in each part of eight values one of four pairs. After
  // an exchange with three other threads it has whole parts, vectors, of the same rows: one of four.
  __device__ void finish(int tile) const {
    const int first_output = tile % columns_ * kOutputs, row_tile = tile / columns_;
    const std::int64_t first_row = static_cast<std::int64_t>(row_tile) * kTileRows;
    const int row = thread_ / 32 * 16 + lane_ / 4, quarter = lane_ % 4;
    const std::int64_t at = (first_row + row) * work_.outputs + first_output + quarter * kChunkValues;
    const std::int64_t second = 8 * static_cast<std::int64_t>(work_.outputs);  // row, from the first one
    const bool has[] = {first_row + row < work_.rows, first_row + row + 8 < work_.rows};

    const T* const addends = static_cast<const T*>(work_.add) + first_output + quarter * kChunkValues;
    const std::int64_t from[] = {added_row(first_row + row) * work_.outputs,
                                 added_row(first_row + row + 8) * work_.outputs};
    uint4 added[kVectorParts][2];
#pragma unroll
    for (int part = 0; part < kVectorParts; ++part) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        if (!kAdds || !has[half]) continue;
        added[part][half] = from[half] < 0 ? uint4{} : load_vector(addends + from[half] + part * kPartValues);
      }
    }
    // Bits of a row: a thread has those of the part of its number in a register, which are of four threads' vectors.
    const bool has_bits = quarter < kVectorParts;
    const std::int64_t bits_at = ((first_row + row) * work_.outputs + first_output + quarter * kPartValues) / 32;
    unsigned bits[2] = {};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (kThen == Then::kPass && has_bits && has[half]) bits[half] = words(work_.passed)[bits_at + half * second / 32];
    }
#pragma unroll
    for (int part = 0; part < kVectorParts; ++part) {
      const float* const sums = sums_ + part * 16;
      const int output = first_output + part * kPartValues;
      float totals[kChunkValues] = {};
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        Pairs pairs;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const float2 bias = kThen == Then::kPass ? float2{} : bias_at(output + j * 8 + quarter * 2);
          pairs[j] = packed(sums[j * 4 + half * 2] + bias.x, sums[j * 4 + half * 2 + 1] + bias.y);
        }
        exchange(pairs, lane_);
        const std::int64_t vector = at + half * second + part * kPartValues;
        if (kAdds) add(pairs, added[part][half]);
        if (kThen == Then::kRelu) {
          const unsigned word = word_of_four(keep_positive(pairs), lane_);
          bits[half] = quarter == part ? word : bits[half];
        }
        if (kThen == Then::kPass) {
          keep_passed(pairs, __shfl_sync(kAllLanes, bits[half], part, 4) >> 8 * quarter & 0xffU);
        }
        if (!has[half]) continue;
        store_vector(static_cast<T*>(work_.y) + vector, pairs);
        if (kThen == Then::kPass) add_to(totals, pairs);
      }
      if (kThen == Then::kPass) sum_up(totals, part * kPartValues);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (kThen == Then::kRelu && has_bits && has[half]) {
        words(work_.positive)[bits_at + half * second / 32] = bits[half];
      }
    }
    if (kThen == Then::kPass) write_sums(first_output, row_tile);
  }

  // Below 0: nothing is added to the row.
  __device__ std::int64_t added_row(std::int64_t row) const {
    return kAdds && kThen == Then::kPass && work_.adds_few ? work_.places.few_of(static_cast<int>(row)) : row;
  }
  __device__ static unsigned* words(std::uint8_t* bytes) {
    return reinterpret_cast<unsigned*>(bytes);
  }
  __device__ static const unsigned* words(const std::uint8_t* bytes) {
    return reinterpret_cast<const unsigned*>(bytes);
  }
  __device__ float2 bias_at(int output) const {
    if (kThen == Then::kNothing) {
      if (work_.late_bias == nullptr) return {};
      return __bfloat1622float2(
          *reinterpret_cast<const __nv_bfloat162*>(static_cast<const T*>(work_.late_bias) + output));
    }
    return *reinterpret_cast<const float2*>(work_.bias + output);
  }

  // Over the rows of a tile, in a fixed order: here those of a warp. Each exchange halves what a lane is to sum up.
  __device__ void sum_up(const float (&totals)[kChunkValues], int output) const {
    float left[4], last[2];
#pragma unroll
    for (int e = 0; e < 4; ++e) left[e] = halved(totals[e], totals[e + 4], lane_, 16);
#pragma unroll
    for (int e = 0; e < 2; ++e) last[e] = halved(left[e], left[e + 2], lane_, 8);
    const float total = halved(last[0], last[1], lane_, 4);
    const int e = (lane_ & 16) / 16 * 4 + (lane_ & 8) / 8 * 2 + (lane_ & 4) / 4;
    of_warp(thread_ / 32)[output + lane_ % 4 * kChunkValues + e] = total;
  }
  __device__ void write_sums(int first_output, int row_tile) const {
    __syncthreads();
    if (thread_ < kOutputs) {
      float sum = 0;
#pragma unroll
      for (int i = 0; i < kBlockThreads / 32; ++i) sum += of_warp(i)[thread_];
      work_.sums[static_cast<std::int64_t>(first_output + thread_) * (tiles_ / columns_) + row_tile] = sum;
    }
    __syncthreads();
  }
  __device__ static float* of_warp(int warp) {
    __shared__ float sums[kBlockThreads / 32][kOutputs];
    return sums[warp];
  }

  const RowsProduct& work_;
  uint4* const shared_;
  const int thread_, lane_;
  const int first_steps_, steps_, columns_, tiles_;
  float sums_[kOutputs / 2];
};

template <int kOutputs, Then kThen, bool kAdds>
__global__ void __launch_bounds__(kBlockThreads, kResidents) product_kernel(const __grid_constant__ RowsProduct work) {
  extern __shared__ uint4 shared[];
  Block<kOutputs, kThen, kAdds>(work, shared).run();
}

template <int kOutputs, Then kThen, bool kAdds>
cudaError_t launch_blocks(const RowsProduct& work, const Launch& launch) {
  const auto kernel = product_kernel<kOutputs, kThen, kAdds>;
  constexpr int kBytes = Block<kOutputs, kThen, kAdds>::kSharedBytes;
  const cudaError_t allowed = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (allowed != cudaSuccess) return allowed;
  const std::int64_t tiles = product_tiles(work.rows) * (work.outputs / kOutputs);
  const std::int64_t room = static_cast<std::int64_t>(kResidents) * launch.device.multiprocessors;
  kernel<<<static_cast<unsigned>(tiles < room ? tiles : room), kBlockThreads, kBytes, launch.stream>>>(work);
  return cudaGetLastError();
}

template <int kOutputs>
cudaError_t launch_tiles(const RowsProduct& work, const Launch& launch) {
  const bool adds = work.add != nullptr;
  switch (work.then) {
    case Then::kNothing:
      return adds ? cudaErrorNotSupported : launch_blocks<kOutputs, Then::kNothing, false>(work, launch);
    case Then::kBias:
      return adds ? launch_blocks<kOutputs, Then::kBias, true>(work, launch)
                  : launch_blocks<kOutputs, Then::kBias, false>(work, launch);
    case Then::kRelu:
      return adds ? launch_blocks<kOutputs, Then::kRelu, true>(work, launch)
                  : launch_blocks<kOutputs, Then::kRelu, false>(work, launch);
    case Then::kPass:
      return adds ? launch_blocks<kOutputs, Then::kPass, true>(work, launch) : cudaErrorNotSupported;
  }
  return cudaErrorInvalidValue;
}

}  // namespace

cudaError_t launch_rows_product(const RowsProduct& work, const Launch& launch) {
  constexpr int kWide = 128;
  return work.outputs % kWide == 0 ? launch_tiles<kWide>(work, launch) : launch_tiles<kProductMultiple>(work, launch);
}

}  // namespace lockstep::kernels::cuda
