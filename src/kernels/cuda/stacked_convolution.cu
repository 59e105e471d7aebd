// Convolutions of small pictures with a window of 3 x 3 places and many channels, and the gradients of their inputs:
// products of weights and places, of 128 outputs and 256 places at a time. The places are two rows of as many pictures
// as make 128 places a row; in shared memory, pictures lie on top of one another. So the window's next column begins
// one stack further on, and for what lies on both sides of the pictures there is one stack of zeros between two rows.
// Rows above and below the pictures are not multiplied.
//
// What is multiplied comes in two rings: rows of 64 channels, of which four belong to a tile, and the weights of 64
// inputs for one place of the window. Two groups of threads have 64 outputs each. One is ahead of the other, so that it
// can write its results while the other one has the tensor cores.
#include "group_barriers.cuh"
#include "known_values.cuh"
#include "stacked_rows.cuh"

namespace lockstep::kernels::cuda {
namespace {

constexpr int kWindow = 3, kTaps = kWindow * kWindow;
constexpr int kGroups = 2, kGroupThreads = 128, kGroupWarps = kGroupThreads / 32;
constexpr int kAll = kGroups * kGroupThreads, kStackThreads = kAll + kGroupThreads;  // one more group copies
constexpr int kTileRows = 2;
constexpr int kInputs = kSwizzledBytes / 2;  // of a product
constexpr int kWeightChunks = kWindowChannels * kPlaceChunks, kTapChunks = kGroups * kWeightChunks;
constexpr int kTapBytes = kTapChunks * kVectorBytes;
constexpr int kRowSlots = 6, kWeightSlots = 4;
constexpr int kOfGroup = 1, kSecondMayBegin = kOfGroup + kGroups;  // barriers

struct StackWork {
  CUtensorMap x, weight, y;
  Divider outputs, stacks;  // blocks of outputs; stacks of pictures
  int splits = 0, jobs = 0, input_blocks = 0;
  int samples = 0, rows = 0, channels = 0;
  KnownValues* known = nullptr;
};

struct Barriers {
  CopyBarrier filled_rows[kRowSlots], used_rows[kRowSlots];
  CopyBarrier filled_weights[kWeightSlots], used_weights[kWeightSlots];
};

// Of shared memory: rows, weights, and a row of results for each group, in chunks.
template <typename Rows>
struct Shared {
  static constexpr int kWeights = Rows::chunks_for(kRowSlots);
  static constexpr int kResults = kWeights + kWeightSlots * kTapChunks, kEnd = kResults + kGroups * kRowChunks;
  static constexpr int kBytes = kEnd * kVectorBytes + static_cast<int>(sizeof(Barriers));
};

// What a block works on: 128 outputs, and every splits-th tile.
struct Part {
  int split, output;
  __device__ explicit Part(const StackWork& work) {
    const Quotient by_output = work.outputs(static_cast<int>(blockIdx.x));
    split = by_output.whole;
    output = by_output.rest * kStackedChannels;
  }
};

// Two rows of a stack of pictures. The first and the last rows, which take less time than others, come last.
template <typename Rows>
struct Job {
  int picture, row;
  bool is_first, is_last;  // of the pictures' rows
  __device__ Job(const StackWork& work, int number) {
    const Quotient by_stack = work.stacks(number);
    picture = by_stack.rest * Rows::kPictures;
    row = (by_stack.whole + 1) * kTileRows;
    if (row == work.rows) row = 0;
    is_first = row == 0;
    is_last = row + kTileRows == work.rows;
  }
};

// One thread each.
template <typename Rows>
__device__ void copy_rows(const StackWork& work, const Part& part, uint4* slots, Barriers& barriers) {
  Ring<kRowSlots> ring;
  for (int number = part.split; number < work.jobs; number += work.splits) {
    const Job<Rows> job(work, number);
    const int begin = job.row - (job.is_first ? 0 : 1), end = job.row + kTileRows + (job.is_last ? 0 : 1);
    for (int block = 0; block < work.input_blocks; ++block) {
      for (int row = begin; row < end; ++row) {
        wait_for(&barriers.used_rows[ring.slot], ring.is_odd ^ 1);
        announce(&barriers.filled_rows[ring.slot], kRowBytes);
        load_row(slots + ring.slot * Rows::kStep, work.x, {job.picture, row, block * kInputs},
                 &barriers.filled_rows[ring.slot]);
        ring.advance();
      }
    }
  }
}
template <bool kGradient>
__device__ void copy_weights(const StackWork& work, const Part& part, uint4* slots, Barriers& barriers) {
  Ring<kWeightSlots> ring;
  for (int number = part.split; number < work.jobs; number += work.splits) {
    for (int block = 0; block < work.input_blocks; ++block) {
      for (int tap = 0; tap < kTaps; ++tap) {
        wait_for(&barriers.used_weights[ring.slot], ring.is_odd ^ 1);
        announce(&barriers.filled_weights[ring.slot], kTapBytes);
        for (int group = 0; group < kGroups; ++group) {
          const int output = part.output + group * kWindowChannels, input = block * kInputs;
          const PicturePlace place =
              kGradient ? PicturePlace{0, input, kTaps - 1 - tap, output} : PicturePlace{0, output, tap, input};
          load_tile(slots + ring.slot * kTapChunks + group * kWeightChunks, work.weight, place,
                    &barriers.filled_weights[ring.slot]);
        }
        ring.advance();
      }
    }
  }
}

using RowSums = float[kRowPlaces / 2];

// The products of 64 inputs, for a row of results.
template <bool kGradient>
__device__ void add_row(RowSums& sums, std::uint64_t weights, std::uint64_t places) {
#pragma unroll
  for (int k = 0; k < kInputs / 16; ++k) {
    add_product<kRowPlaces, false, kGradient>(sums, weights + k * (kGradient ? 16 * kPlaceChunks : 2), places + k * 2);
  }
}

// Adds the results of a row, and returns how many they are of each channel. kAllThere: all are of some picture.
template <int kPictures, bool kAllThere>
__device__ int add_results(Known (&known)[2], const RowSums& sums, int pictures) {
  int count = 0;
#pragma unroll
  for (int block = 0; block < kRowPlaces / 8; ++block) {
    const int picture = block * 8 % kPictures + static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (!kAllThere && picture + i >= pictures) continue;
      known[0].add(sums[block * 4 + i]);
      known[1].add(sums[block * 4 + 2 + i]);
      ++count;
    }
  }
  return count;
}

template <typename Rows, bool kGradient>
class Group {
 public:
  __device__ Group(const StackWork& work, const Part& part, int group, const uint4* rows, const uint4* weights,
                   uint4* results, Barriers& barriers)
      : work_(work),
        part_(part),
        group_(group),
        leads_(static_cast<int>(threadIdx.x) % kGroupThreads == 0),
        is_warps_first_(threadIdx.x % 32 == 0),
        rows_(matrix_at(rows)),
        weights_(matrix_at(weights + group * kWeightChunks)),
        results_(results + group * kRowChunks),
        barriers_(barriers) {}

  __device__ void run() {
    Known known[2];
    int count = 0;
    for (int number = part_.split; number < work_.jobs; number += work_.splits) {
      const Job<Rows> job(work_, number);
      const bool first = number == part_.split;
      multiply(job, first);
      write(job);
      if (kGradient || work_.known == nullptr) continue;
      if (first) {  // of the first picture, which is there also where others of the stack are not
        const int quad = static_cast<int>(threadIdx.x) % 32 & ~3;
        known[0].first = __shfl_sync(kAllLanes, sums_[0][0], quad);
        known[1].first = __shfl_sync(kAllLanes, sums_[0][2], quad);
      }
      const int pictures = work_.samples - job.picture;
#pragma unroll
      for (int row = 0; row < kTileRows; ++row) {
        count += pictures >= Rows::kPictures ? add_results<Rows::kPictures, true>(known, sums_[row], pictures)
                                             : add_results<Rows::kPictures, false>(known, sums_[row], pictures);
      }
    }
    if (!kGradient && work_.known != nullptr) tell(known, count);
    if (leads_) wait_for_stores<0>();
  }

 private:
  __device__ void multiply(const Job<Rows>& job, bool first) {
#pragma unroll
    for (RowSums& sums : sums_) {
#pragma unroll
      for (float& sum : sums) sum = 0;
    }
    if (first && group_ == 1) meet(kSecondMayBegin, kAll);
    if (job.is_first) {
      multiply_rows<true, false>(first);
    } else if (job.is_last) {
      multiply_rows<false, true>(first);
    } else {
      multiply_rows<false, false>(first);
    }
    leave();
  }

  // In the order of the window's rows. For each of them two rows of the ring are read: the first row of results needs
  // one, and the second one the next.
  template <bool kFirst, bool kLast>
  __device__ void multiply_rows(bool first) {
    constexpr int kBefore = kFirst ? 0 : 1, kRows = kTileRows + kBefore + (kLast ? 0 : 1);
#pragma unroll
    for (RowSums& sums : sums_) begin_products(sums);
#pragma unroll 1
    for (int block = 0; block < work_.input_blocks; ++block) {
      if (!kFirst) wait_for_row(0);
#pragma unroll
      for (int window_row = 0; window_row < kWindow; ++window_row) {
        const int upper = window_row + kBefore - 1, lower = upper + 1;
        if (lower < kRows) wait_for_row(lower);
        add_tap(0, upper, lower < kRows ? lower : -1);
        if (window_row == 0 && first && group_ == 0 && block == 0) come_to(kSecondMayBegin, kAll);
        add_tap(1, upper, lower < kRows ? lower : -1);
        add_tap(2, upper, lower < kRows ? lower : -1);
        if (upper >= 0) used_row_ = row_.after(upper).slot;
      }
      if (!kLast) used_last_row_ = row_.after(kRows - 1).slot;
      row_.advance(kRows);
    }
    wait_for_products<0>();
#pragma unroll
    for (RowSums& sums : sums_) hold(sums);
  }

  __device__ void wait_for_row(int number) const {
    const auto row = row_.after(number);
    wait_for(&barriers_.filled_rows[row.slot], row.is_odd);
  }

  // The window's `column`. For the two rows of results, those that they need are given by their numbers, or by -1.
  __device__ __forceinline__ void add_tap(int column, int upper, int lower) {
    wait_for(&barriers_.filled_weights[weight_.slot], weight_.is_odd);
    const std::uint64_t weights = weights_ + weight_.slot * kTapChunks;
    const std::uint64_t places = rows_ + (column - 1) * Rows::kStackChunks;
    if (upper >= 0) add_row<kGradient>(sums_[0], weights, places + row_.after(upper).slot * Rows::kStep);
    if (lower >= 0) add_row<kGradient>(sums_[1], weights, places + row_.after(lower).slot * Rows::kStep);
    close_group_of_products();
    wait_for_products<1>();
    leave();
    used_weights_ = weight_.slot;
    weight_.advance();
  }

  // What the products before those under way have read.
  __device__ void leave() {
    if (used_weights_ >= 0 && is_warps_first_) arrive(&barriers_.used_weights[used_weights_]);
    used_weights_ = -1;
    if (used_row_ >= 0 && is_warps_first_) arrive(&barriers_.used_rows[used_row_]);
    if (used_last_row_ >= 0 && is_warps_first_) arrive(&barriers_.used_rows[used_last_row_]);
    used_row_ = used_last_row_ = -1;
  }

  // Row by row.
  __device__ void write(const Job<Rows>& job) {
    const int thread = static_cast<int>(threadIdx.x);
    uint4* const to = results_ + swizzled((thread & 7) + (thread >> 1 & 8), (thread >> 4 & 6) + (thread >> 3 & 1));
#pragma unroll
    for (int row = 0; row < kTileRows; ++row) {
      if (leads_) wait_for_stores<0>();
      meet(kOfGroup + group_, kGroupThreads);
#pragma unroll
      for (int pair = 0; pair < kRowPlaces / 16; ++pair) {
        const float* const of = sums_[row] + pair * 8;
        const unsigned values[4] = {packed(of[0], of[1]), packed(of[2], of[3]), packed(of[4], of[5]),
                                    packed(of[6], of[7])};
        store_transposed(to + pair * 16 * kPlaceChunks, values);
      }
      show_to_tensor_cores();
      meet(kOfGroup + group_, kGroupThreads);
      if (leads_) {
        store_row(work_.y, {job.picture, job.row + row, part_.output + group_ * kWindowChannels}, results_);
      }
    }
  }

  __device__ void tell(const Known (&known)[2], int count) const {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32 % kGroupWarps;
    KnownValues* const to = work_.known + static_cast<std::int64_t>(part_.split) * work_.channels + part_.output +
                            group_ * kWindowChannels + warp * 16;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const KnownValues all = sum_of_quad(known[half], count);
      if (lane % 4 == 0) to[half * 8 + lane / 4] = all;
    }
  }

  const StackWork& work_;
  const Part& part_;
  const int group_;
  const bool leads_, is_warps_first_;
  const std::uint64_t rows_, weights_;
  uint4* const results_;
  Barriers& barriers_;
  Ring<kRowSlots> row_;
  Ring<kWeightSlots> weight_;
  int used_weights_ = -1, used_row_ = -1, used_last_row_ = -1;  // slots; the last row of a block has one beside another
  RowSums sums_[kTileRows];
};

template <typename Rows, bool kGradient>
__global__ void __launch_bounds__(kStackThreads, 1) stack_kernel(const __grid_constant__ StackWork work) {
  using Its = Shared<Rows>;
  extern __shared__ __align__(1024) uint4 shared[];
  uint4 *const rows = shared + Rows::kStackChunks, *const weights = shared + Its::kWeights;
  auto& barriers = *reinterpret_cast<Barriers*>(shared + Its::kEnd);
  Rows::clear_stacks(shared, kRowSlots);
  if (threadIdx.x == 0) {
    for (int i = 0; i < kRowSlots; ++i) {
      make_barrier(&barriers.filled_rows[i]);
      make_barrier(&barriers.used_rows[i], kGroups * kGroupWarps);
    }
    for (int i = 0; i < kWeightSlots; ++i) {
      make_barrier(&barriers.filled_weights[i]);
      make_barrier(&barriers.used_weights[i], kGroups * kGroupWarps);
    }
    show_barriers();
  }
  __syncthreads();
  wait_for_earlier_work();
  const Part part(work);
  const int group = __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / kGroupThreads, 0);
  if (group < kGroups) {
    more_registers<240>();
    Group<Rows, kGradient>(work, part, group, rows, weights, shared + Its::kResults, barriers).run();
  } else {
    fewer_registers<24>();
    if (threadIdx.x == kAll) copy_weights<kGradient>(work, part, weights, barriers);
    if (threadIdx.x == kAll + 32) copy_rows<Rows>(work, part, rows, barriers);
  }
}

int jobs_of(const WindowConvolution& work) {
  return stacks_of(work.samples, work.width) * (work.height / kTileRows);
}

}  // namespace

int stacked_parts(const WindowConvolution& work, const Device& device) {
  const int jobs = jobs_of(work), room = device.multiprocessors / (work.channels / kStackedChannels);
  return room < 1 ? 1 : jobs < room ? jobs : room;
}

// All blocks work as long as those with the most tiles.
bool stacked_keeps_busy(const WindowConvolution& work, const Device& device) {
  const int jobs = jobs_of(work), parts = stacked_parts(work, device), longest = (jobs + parts - 1) / parts;
  return 4 * jobs * (work.channels / kStackedChannels) >= 3 * longest * device.multiprocessors;
}

cudaError_t launch_stacked_convolution(const WindowConvolution& convolution, const Launch& launch) {
  const PictureSizes sizes{convolution.samples, convolution.height, convolution.width, convolution.channels};
  const int pictures = pictures_of_stack(convolution.width), outputs = convolution.channels / kStackedChannels;
  StackWork work{.outputs = Divider(outputs),
                 .stacks = Divider(stacks_of(convolution.samples, convolution.width)),
                 .splits = stacked_parts(convolution, launch.device),
                 .jobs = jobs_of(convolution),
                 .input_blocks = convolution.channels / kInputs,
                 .samples = convolution.samples,
                 .rows = convolution.height,
                 .channels = convolution.channels,
                 .known = convolution.known};
  cudaError_t status = map_stacked_rows(work.x, convolution.x, sizes, pictures);
  if (status == cudaSuccess) status = map_stacked_rows(work.y, convolution.y, sizes, pictures);
  if (status == cudaSuccess) {
    const PictureSizes weights{1, convolution.channels, kTaps, convolution.channels};
    status = map_pictures(work.weight, convolution.weight, weights, kWindowChannels, 1);
  }
  if (status != cudaSuccess) return status;
  return by_stack(convolution.width, [&](auto rows) {
    using Rows = decltype(rows);
    const Grid grid{std::int64_t{work.splits} * outputs, kStackThreads, Shared<Rows>::kBytes};
    return convolution.is_gradient ? start(stack_kernel<Rows, true>, grid, launch, work)
                                   : start(stack_kernel<Rows, false>, grid, launch, work);
  });
}

}  // namespace lockstep::kernels::cuda
