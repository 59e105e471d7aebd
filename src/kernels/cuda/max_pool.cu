// The maximum of each window with the rectifier before it, and its gradient. A thread has one vector of channels of one
// result. Gradients are gathered by the input, so nothing is added up in an order that could change.
#include "max_pool.cuh"

namespace lockstep::kernels::cuda {
namespace {

constexpr int kBlockThreads = 256;

struct Range {
  int begin, end;
};

// The places of a window in one dimension that are not in the padding.
__device__ Range places_inside(const PoolShape& shape, int dimension, int window) {
  const int first = window * shape.stride[dimension] - shape.padding[dimension];
  return {max(-first, 0), min(shape.in[dimension] - first, shape.kernel[dimension])};
}

// The windows in one dimension that hold a position.
__device__ Range windows_with(const PoolShape& shape, int dimension, int position) {
  const int from = position + shape.padding[dimension], before = from - shape.kernel[dimension];
  return {before < 0 ? 0 : before / shape.stride[dimension] + 1,
          min(from / shape.stride[dimension] + 1, shape.out[dimension])};
}

// Which vector of which position this thread has: of the outputs or the inputs, as `sizes` says.
struct Position {
  __device__ Position(const PoolShape& shape, const int (&sizes)[3], int width) {
    const auto vectors = static_cast<unsigned>(shape.channels / width);
    unsigned rest = blockIdx.x * kBlockThreads + threadIdx.x;
    vector = static_cast<int>(rest % vectors), rest /= vectors;
    for (int dimension = 2; dimension >= 0; --dimension) {
      const auto size = static_cast<unsigned>(sizes[dimension]);
      at[dimension] = static_cast<int>(rest % size), rest /= size;
    }
    sample = static_cast<int>(rest);
  }
  int vector, at[3], sample;
};

__device__ std::int64_t offset(const PoolShape& shape, const int (&sizes)[3], int sample, int d, int h, int w) {
  return (((static_cast<std::int64_t>(sample) * sizes[0] + d) * sizes[1] + h) * sizes[2] + w) * shape.channels;
}

template <typename T>
__global__ void __launch_bounds__(kBlockThreads) max_kernel(const __grid_constant__ MaxPoolForward work) {
  const PoolShape& shape = work.shape;
  const Position place(shape, shape.out, kWidth<T>);
  if (place.sample >= shape.samples) return;
  const Range depths = places_inside(shape, 0, place.at[0]), heights = places_inside(shape, 1, place.at[1]),
              widths = places_inside(shape, 2, place.at[2]);
  const int channel = place.vector * kWidth<T>;
  Maxima<T> maxima;
  bool first = true;
  for (int d = depths.begin; d < depths.end; ++d) {
    for (int h = heights.begin; h < heights.end; ++h) {
      for (int w = widths.begin; w < widths.end; ++w) {
        const int number = (d * shape.kernel[1] + h) * shape.kernel[2] + w;
        const T* from = static_cast<const T*>(work.x) + channel +
                        offset(shape, shape.in, place.sample, place.at[0] * shape.stride[0] - shape.padding[0] + d,
                               place.at[1] * shape.stride[1] - shape.padding[1] + h,
                               place.at[2] * shape.stride[2] - shape.padding[2] + w);
        const uint4 bits = *reinterpret_cast<const uint4*>(from);
        if (first) {
          maxima.start(bits, number);
        } else {
          maxima.meet(bits, number);
        }
        first = false;
      }
    }
  }
  if (work.bias != nullptr) maxima.add(work.bias + channel);
  maxima.rectify(work.act);
  const std::int64_t to = offset(shape, shape.out, place.sample, place.at[0], place.at[1], place.at[2]) + channel;
  *reinterpret_cast<uint4*>(static_cast<T*>(work.y) + to) = pack<T>(maxima.values);
  maxima.places.store(work.places + to);
}

template <typename T>
__global__ void __launch_bounds__(kBlockThreads) gradient_kernel(const __grid_constant__ MaxPoolBackward work) {
  const PoolShape& shape = work.shape;
  const Position place(shape, shape.in, kWidth<T>);
  if (place.sample >= shape.samples) return;
  const Range depths = windows_with(shape, 0, place.at[0]), heights = windows_with(shape, 1, place.at[1]),
              widths = windows_with(shape, 2, place.at[2]);
  const int channel = place.vector * kWidth<T>;
  float sums[kWidth<T>] = {};
  for (int d = depths.begin; d < depths.end; ++d) {
    for (int h = heights.begin; h < heights.end; ++h) {
      for (int w = widths.begin; w < widths.end; ++w) {
        const int in_depth = place.at[0] + shape.padding[0] - d * shape.stride[0];
        const int in_height = place.at[1] + shape.padding[1] - h * shape.stride[1];
        const int in_width = place.at[2] + shape.padding[2] - w * shape.stride[2];
        const std::int64_t from = offset(shape, shape.out, place.sample, d, h, w) + channel;
        Gradients<T> gradients;
        gradients.places.load(work.places + from);
        gradients.take(*reinterpret_cast<const uint4*>(static_cast<const T*>(work.gradient) + from), work.act);
        gradients.add_to(sums, (in_depth * shape.kernel[1] + in_height) * shape.kernel[2] + in_width);
      }
    }
  }
  const std::int64_t to = offset(shape, shape.in, place.sample, place.at[0], place.at[1], place.at[2]) + channel;
  *reinterpret_cast<uint4*>(static_cast<T*>(work.x_gradient) + to) = pack<T>(sums);
}

dim3 blocks_for(const PoolShape& shape, const int (&sizes)[3]) {
  const std::int64_t vectors = static_cast<std::int64_t>(shape.samples) * sizes[0] * sizes[1] * sizes[2] *
                               (shape.channels / vector_width(shape.type));
  return dim3(static_cast<unsigned>((vectors + kBlockThreads - 1) / kBlockThreads));
}

}  // namespace

cudaError_t launch_max_pool(const MaxPoolForward& work, cudaStream_t stream) {
  if (is_common_window(work.shape)) return launch_common_max_pool(work, stream);
  return by_type(work.shape.type, [&](auto type) {
    max_kernel<decltype(type)><<<blocks_for(work.shape, work.shape.out), kBlockThreads, 0, stream>>>(work);
    return cudaGetLastError();
  });
}

cudaError_t launch_max_pool_gradient(const MaxPoolBackward& work, cudaStream_t stream) {
  if (is_common_window(work.shape)) return launch_common_max_pool_gradient(work, stream);
  return by_type(work.shape.type, [&](auto type) {
    gradient_kernel<decltype(type)><<<blocks_for(work.shape, work.shape.in), kBlockThreads, 0, stream>>>(work);
    return cudaGetLastError();
  });
}

}  // namespace lockstep::kernels::cuda
