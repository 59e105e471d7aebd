// Max pooling of pictures by the windows that most models have. All that a thread loads is on its way before the first
// of it is used.
#include "divider.h"
#include "max_pool.cuh"

namespace lockstep::kernels::cuda {
namespace {

constexpr int kBlockThreads = 256;

template <int kSide, int kStep, int kEdge>
struct Window {
  static constexpr int kKernel = kSide, kStride = kStep, kPadding = kEdge;
};

// Which thread has which vector, numbered as they lie in memory: of the outputs, or of patches of the input.
struct Order {
  Order(int samples, int row_count, int column_count, int vector_count)
      : rows(row_count),
        columns(column_count),
        vectors(vector_count),
        threads(samples * row_count * column_count * vector_count) {}
  unsigned blocks() const { return (static_cast<unsigned>(threads) + kBlockThreads - 1) / kBlockThreads; }

  Divider rows, columns, vectors;
  int threads;
};

struct Position {
  __device__ Position(const Order& order, int thread) {
    const Quotient pixel = order.vectors(thread), line = order.columns(pixel.whole), picture = order.rows(line.whole);
    vector = pixel.rest, column = line.rest, row = picture.rest, sample = picture.whole;
  }
  int vector, column, row, sample;
};

__device__ int own_thread() {
  return static_cast<int>(blockIdx.x * kBlockThreads + threadIdx.x);
}

// The vectors of a batch of pictures.
struct Picture {
  int height, width, vectors;
  __device__ bool has(int row, int column) const {
    return static_cast<unsigned>(row) < static_cast<unsigned>(height) &&
           static_cast<unsigned>(column) < static_cast<unsigned>(width);
  }
  __device__ int number(const Position& place, int row, int column) const {
    return ((place.sample * height + row) * width + column) * vectors + place.vector;
  }
};

// A vector of what is less than any value: two halves, or one float.
template <typename T>
constexpr unsigned kLowest = 0;
template <>
constexpr unsigned kLowest<float> = 0xff800000;
template <>
constexpr unsigned kLowest<__nv_bfloat16> = 0xff80ff80;
template <>
constexpr unsigned kLowest<__half> = 0xfc00fc00;

template <typename T, typename W>
__global__ void __launch_bounds__(kBlockThreads)
    max_kernel(const __grid_constant__ MaxPoolForward work, const __grid_constant__ Order outputs) {
  const int thread = own_thread();
  if (thread >= outputs.threads) return;
  const PoolShape& shape = work.shape;
  const Position place(outputs, thread);
  const Picture input{shape.in[1], shape.in[2], shape.channels / kWidth<T>};
  const int top = place.row * W::kStride - W::kPadding, left = place.column * W::kStride - W::kPadding;
  uint4 x[W::kKernel][W::kKernel];
#pragma unroll
  for (int i = 0; i < W::kKernel; ++i) {
#pragma unroll
    for (int j = 0; j < W::kKernel; ++j) {
      if (W::kPadding == 0 || input.has(top + i, left + j)) {
        x[i][j] = static_cast<const uint4*>(work.x)[input.number(place, top + i, left + j)];
      } else {
        x[i][j] = make_uint4(kLowest<T>, kLowest<T>, kLowest<T>, kLowest<T>);
      }
    }
  }
  Maxima<T> maxima;
  maxima.start(x[0][0], W::kPadding == 0 ? 0 : max(-top, 0) * W::kKernel + max(-left, 0));
#pragma unroll
  for (int i = 1; i < W::kKernel * W::kKernel; ++i) maxima.meet(x[i / W::kKernel][i % W::kKernel], i);
  if (work.bias != nullptr) maxima.add(work.bias + place.vector * kWidth<T>);
  maxima.rectify(work.act);
  static_cast<uint4*>(work.y)[thread] = pack<T>(maxima.values);
  maxima.places.store(work.places + static_cast<std::int64_t>(thread) * kWidth<T>);
}

// A thread has a patch of as many inputs as the stride is long, each way, and all windows that hold any of them.
template <typename T, typename W>
__global__ void __launch_bounds__(kBlockThreads)
    gradient_kernel(const __grid_constant__ MaxPoolBackward work, const __grid_constant__ Order patches) {
  // Of the first window and behind the last, beyond the patch's own number.
  constexpr int kBegin = -((W::kKernel - W::kPadding - 1) / W::kStride);
  constexpr int kWindows = (W::kStride - 1 + W::kPadding) / W::kStride + 1 - kBegin;
  const int thread = own_thread();
  if (thread >= patches.threads) return;
  const PoolShape& shape = work.shape;
  const Position place(patches, thread);
  const Picture input{shape.in[1], shape.in[2], shape.channels / kWidth<T>};
  const Picture output{shape.out[1], shape.out[2], shape.channels / kWidth<T>};
  uint4 bits[kWindows][kWindows];
  Gradients<T> gradients[kWindows][kWindows];
#pragma unroll
  for (int i = 0; i < kWindows; ++i) {
#pragma unroll
    for (int j = 0; j < kWindows; ++j) {
      const int row = place.row + kBegin + i, column = place.column + kBegin + j;
      if (output.has(row, column)) {
        const int from = output.number(place, row, column);
        bits[i][j] = static_cast<const uint4*>(work.gradient)[from];
        gradients[i][j].places.load(work.places + static_cast<std::int64_t>(from) * kWidth<T>);
      } else {
        bits[i][j] = make_uint4(0, 0, 0, 0);
        gradients[i][j].places.bits = make_uint2(0xffffffff, 0xffffffff);  // no window has such places
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kWindows; ++i) {
#pragma unroll
    for (int j = 0; j < kWindows; ++j) gradients[i][j].take(bits[i][j], work.act);
  }
#pragma unroll
  for (int r = 0; r < W::kStride; ++r) {
#pragma unroll
    for (int c = 0; c < W::kStride; ++c) {
      const int row = place.row * W::kStride + r, column = place.column * W::kStride + c;
      if (!input.has(row, column)) continue;
      float sums[kWidth<T>] = {};
#pragma unroll
      for (int i = 0; i < kWindows; ++i) {
#pragma unroll
        for (int j = 0; j < kWindows; ++j) {
          const int down = r + W::kPadding - (kBegin + i) * W::kStride;
          const int across = c + W::kPadding - (kBegin + j) * W::kStride;
          if (down < 0 || down >= W::kKernel || across < 0 || across >= W::kKernel) continue;
          gradients[i][j].add_to(sums, down * W::kKernel + across);
        }
      }
      static_cast<uint4*>(work.x_gradient)[input.number(place, row, column)] = pack<T>(sums);
    }
  }
}

template <typename W>
bool is_window(const PoolShape& shape) {
  for (int dimension = 1; dimension < 3; ++dimension) {
    if (shape.kernel[dimension] != W::kKernel || shape.stride[dimension] != W::kStride ||
        shape.padding[dimension] != W::kPadding) {
      return false;
    }
  }
  return shape.in[0] == 1 && shape.kernel[0] == 1 && shape.stride[0] == 1 && shape.padding[0] == 0;
}

// body(Window()) for the window of a shape; false where it is none of these.
template <typename Body>
bool by_window(const PoolShape& shape, const Body& body) {
  const auto tried = [&](auto window) { return is_window<decltype(window)>(shape) && (body(window), true); };
  return tried(Window<2, 2, 0>()) || tried(Window<3, 2, 0>()) || tried(Window<3, 2, 1>());
}

template <typename Body>
cudaError_t by_type_and_window(const PoolShape& shape, const Body& body) {
  return by_type(shape.type, [&](auto type) {
    by_window(shape, [&](auto window) { body(type, window); });
    return cudaGetLastError();
  });
}

}  // namespace

bool is_common_window(const PoolShape& shape) {
  return by_window(shape, [](auto) {});
}

cudaError_t launch_common_max_pool(const MaxPoolForward& work, cudaStream_t stream) {
  const PoolShape& shape = work.shape;
  const Order outputs(shape.samples, shape.out[1], shape.out[2], shape.channels / vector_width(shape.type));
  return by_type_and_window(shape, [&](auto type, auto window) {
    max_kernel<decltype(type), decltype(window)><<<outputs.blocks(), kBlockThreads, 0, stream>>>(work, outputs);
  });
}

cudaError_t launch_common_max_pool_gradient(const MaxPoolBackward& work, cudaStream_t stream) {
  const PoolShape& shape = work.shape;
  const auto patches_along = [&](int dimension) {
    return (shape.in[dimension] + shape.stride[dimension] - 1) / shape.stride[dimension];
  };
  const Order patches(shape.samples, patches_along(1), patches_along(2), shape.channels / vector_width(shape.type));
  return by_type_and_window(shape, [&](auto type, auto window) {
    gradient_kernel<decltype(type), decltype(window)><<<patches.blocks(), kBlockThreads, 0, stream>>>(work, patches);
  });
}

}  // namespace lockstep::kernels::cuda
