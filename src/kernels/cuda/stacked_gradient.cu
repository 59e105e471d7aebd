// The gradients of the weights of convolutions of pictures that are stacked: sums over all places of the products of
// each output's gradient and each input that its window sees. A block of threads has 64 outputs and 64 inputs, and adds
// up the products of its stacks of pictures in registers; what the blocks have is added in a second kernel.
#include "pairs.cuh"
#include "partial_sums.cuh"
#include "stacked_rows.cuh"
#include "window_results.cuh"

namespace lockstep::kernels::cuda {
namespace {

constexpr int kGroups = kSumWindow, kGroupThreads = 128;  // that compute: each has a row of the window
constexpr int kAll = kGroups * kGroupThreads, kThreadsOfSums = kAll + kGroupThreads;  // one more group copies
constexpr int kSlots = 6;
constexpr int kColumns = WindowResults::kColumns, kRegisters = WindowResults::kRegisters;
constexpr int kPartial = kGroups * kRegisters * kGroupThreads;

struct StackSums {
  CUtensorMap x, gradient;
  Divider pairs, of_inputs;  // of 64 outputs and 64 inputs; those of all inputs
  int stacks = 0, splits = 0, rows = 0;
  float* partials = nullptr;  // [block][group][register][thread]
};

struct Barriers {
  CopyBarrier filled[kSlots], used[kSlots];
};

// Of shared memory: rows of the input, and then rows of the gradient, in chunks.
template <typename Rows>
constexpr int kGradients = Rows::chunks_for(kSlots);
template <typename Rows>
constexpr int kEnd = kGradients<Rows> + kSlots* kRowChunks;
template <typename Rows>
constexpr int kBytes = kEnd<Rows>* kVectorBytes + static_cast<int>(sizeof(Barriers));

// What a block works on: a pair, and every splits-th stack.
struct Part {
  int split, output, input;  // the last two: where its channels begin
  __device__ explicit Part(const StackSums& work) {
    const Quotient by_pair = work.pairs(static_cast<int>(blockIdx.x)), by_output = work.of_inputs(by_pair.rest);
    split = by_pair.whole;
    output = by_output.whole * kWindowChannels;
    input = by_output.rest * kWindowChannels;
  }
};

// One thread.
template <typename Rows>
__device__ void copy_rows(const StackSums& work, const Part& part, uint4* shared, Barriers& barriers) {
  Ring<kSlots> ring;
  for (int stack = part.split; stack < work.stacks; stack += work.splits) {
    for (int row = 0; row < work.rows; ++row) {
      CopyBarrier* const filled = &barriers.filled[ring.slot];
      wait_for(&barriers.used[ring.slot], ring.is_odd ^ 1);
      announce(filled, 2 * kRowBytes);
      load_row(shared + Rows::kStackChunks + ring.slot * Rows::kStep, work.x,
               {stack * Rows::kPictures, row, part.input}, filled);
      load_row(shared + kGradients<Rows> + ring.slot * kRowChunks, work.gradient,
               {stack * Rows::kPictures, row, part.output}, filled);
      ring.advance();
    }
  }
}

// The products of a row of the gradient, and of what a row of the window sees of the input. What its second place sees
// begins one stack behind what its first one does, so that one product, three times as wide, has all three.
template <typename Rows>
__device__ void add_row(float (&sums)[kRegisters], const uint4* gradient, const uint4* input) {
  const std::uint64_t outputs = matrix_at(gradient);
  const std::uint64_t inputs = matrix_at(input - Rows::kStackChunks, Rows::kStackChunks * kVectorBytes);
#pragma unroll
  for (int place = 0; place < kRowPlaces; place += 16) {
    add_product<kColumns, true, true>(sums, outputs + place * kPlaceChunks, inputs + place * kPlaceChunks);
  }
  close_group_of_products();
}

template <typename Rows>
__device__ void compute(const StackSums& work, const Part& part, int group, const uint4* shared, Barriers& barriers) {
  const uint4 *const inputs = shared + Rows::kStackChunks, *const gradients = shared + kGradients<Rows>;
  float sums[kRegisters];
#pragma unroll
  for (float& sum : sums) sum = 0;
  begin_products(sums);
  const int moved = group - 1;  // from the gradient's row to the input's
  Ring<kSlots> ring, left;
  int leaves = 0;  // so many slots when the products under way have ended
  for (int stack = part.split; stack < work.stacks; stack += work.splits) {
    for (int row = 0; row < work.rows; ++row) {
      const bool is_last = row + 1 == work.rows;
      wait_for(&barriers.filled[ring.slot], ring.is_odd);
      if (moved == 0 || (moved < 0 ? row > 0 : !is_last)) {
        Ring<kSlots> seen = ring;
        if (moved > 0) {
          seen = ring.after(1);
          wait_for(&barriers.filled[seen.slot], seen.is_odd);
        } else if (moved < 0) {
          seen = ring.after(kSlots - 1);
        }
        add_row<Rows>(sums, gradients + ring.slot * kRowChunks, inputs + seen.slot * Rows::kStep);
        wait_for_products<1>();
        for (; leaves > 0; --leaves) {
          if (threadIdx.x % 32 == 0) arrive(&barriers.used[left.slot]);
          left.advance();
        }
      }
      // A row of the input that the next row of the gradient needs stays.
      leaves += moved < 0 ? (row > 0 ? 1 : 0) + (is_last ? 1 : 0) : 1;
      ring.advance();
    }
  }
  end_products(sums);
  float* const to = work.partials + static_cast<std::int64_t>(blockIdx.x) * kPartial +
                    group * kRegisters * kGroupThreads + static_cast<int>(threadIdx.x) % kGroupThreads;
#pragma unroll
  for (int i = 0; i < kRegisters; ++i) to[i * kGroupThreads] = sums[i];
}

template <typename Rows>
__global__ void __launch_bounds__(kThreadsOfSums, 1) stack_sums_kernel(const __grid_constant__ StackSums work) {
  extern __shared__ __align__(1024) uint4 shared[];
  auto& barriers = *reinterpret_cast<Barriers*>(shared + kEnd<Rows>);
  Rows::clear_stacks(shared, kSlots);
  if (threadIdx.x == 0) {
    for (int i = 0; i < kSlots; ++i) {
      make_barrier(&barriers.filled[i]);
      make_barrier(&barriers.used[i], kAll / 32);
    }
    show_barriers();
  }
  __syncthreads();
  wait_for_earlier_work();
  const Part part(work);
  const int group = __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / kGroupThreads, 0);
  if (group < kGroups) {
    more_registers<152>();
    compute<Rows>(work, part, group, shared, barriers);
  } else {
    fewer_registers<24>();
    if (threadIdx.x == kAll) copy_rows<Rows>(work, part, shared, barriers);
  }
}

int blocks_of_channels(const WindowGradient& work) {
  return work.channels / kWindowChannels;
}
int pairs_of(const WindowGradient& work) {
  return blocks_of_channels(work) * blocks_of_channels(work);
}
int splits_of(const WindowGradient& work, const Device& device) {
  const int stacks = stacks_of(work.samples, work.width), room = device.multiprocessors / pairs_of(work);
  return room < 1 ? 1 : stacks < room ? stacks : room;
}

}  // namespace

std::int64_t stacked_partials(const WindowGradient& work, const Device& device) {
  return std::int64_t{splits_of(work, device)} * pairs_of(work) * kPartial;
}

cudaError_t launch_stacked_gradient(const WindowGradient& work, const Launch& launch) {
  const PictureSizes sizes{work.samples, work.height, work.width, work.channels};
  const int pictures = pictures_of_stack(work.width), pairs = pairs_of(work);
  StackSums sums{.pairs = Divider(pairs),
                 .of_inputs = Divider(blocks_of_channels(work)),
                 .stacks = stacks_of(work.samples, work.width),
                 .splits = splits_of(work, launch.device),
                 .rows = work.height,
                 .partials = launch.partials};
  cudaError_t status = map_stacked_rows(sums.x, work.x, sizes, pictures);
  if (status == cudaSuccess) status = map_stacked_rows(sums.gradient, work.gradient, sizes, pictures);
  if (status != cudaSuccess) return status;
  status = by_stack(work.width, [&](auto rows) {
    using Rows = decltype(rows);
    return start(stack_sums_kernel<Rows>, {std::int64_t{sums.splits} * pairs, kThreadsOfSums, kBytes<Rows>}, launch,
                 sums);
  });
  if (status != cudaSuccess) return status;
  return add_up<WindowResults>({.partials = launch.partials,
                                .pairs = pairs * kGroups,
                                .splits = sums.splits,
                                .size = work.channels,
                                .sums = static_cast<__nv_bfloat16*>(work.weight_gradient)},
                               launch);
}

}  // namespace lockstep::kernels::cuda
