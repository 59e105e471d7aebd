// The maximum of each window with the rectifier before it, and its gradient. A thread has one vector of channels of one
// result. Gradients are gathered by the input, so nothing is added up in an order that could change.
#include "launch.cuh"
#include "vector.cuh"

namespace lockstep::kernels::cuda {
namespace {

constexpr int kBlockThreads = 256;
constexpr unsigned kActed = 128;  // added to the place of a maximum that the act changes

struct Arguments {
  PoolShape shape;
  PoolAct act;
  const void* x;
  const void* gradient;
  std::uint8_t* places;
  const std::uint8_t* found_places;
  void* result;
};

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

// A byte for each channel of a vector.
template <typename T>
union Places {
  static_assert(kWidth<T> == 4 || kWidth<T> == 8);
  uint2 bits;  // of which a vector of floats has the first half
  std::uint8_t values[8];

  __device__ void load(const std::uint8_t* from) {
    if constexpr (kWidth<T> == 8) bits = *reinterpret_cast<const uint2*>(from);
    if constexpr (kWidth<T> == 4) bits.x = *reinterpret_cast<const unsigned*>(from);
  }
  __device__ void store(std::uint8_t* to) const {
    if constexpr (kWidth<T> == 8) *reinterpret_cast<uint2*>(to) = bits;
    if constexpr (kWidth<T> == 4) *reinterpret_cast<unsigned*>(to) = bits.x;
  }
};

template <typename T>
__global__ void __launch_bounds__(kBlockThreads) max_kernel(const __grid_constant__ Arguments a) {
  const PoolShape& shape = a.shape;
  const Position place(shape, shape.out, kWidth<T>);
  if (place.sample >= shape.samples) return;
  const Range depths = places_inside(shape, 0, place.at[0]), heights = places_inside(shape, 1, place.at[1]),
              widths = places_inside(shape, 2, place.at[2]);
  const int channel = place.vector * kWidth<T>;
  float best[kWidth<T>];
  Places<T> found;
  bool first = true;
  for (int d = depths.begin; d < depths.end; ++d) {
    for (int h = heights.begin; h < heights.end; ++h) {
      for (int w = widths.begin; w < widths.end; ++w) {
        const auto number = static_cast<std::uint8_t>((d * shape.kernel[1] + h) * shape.kernel[2] + w);
        const T* from = static_cast<const T*>(a.x) + channel +
                        offset(shape, shape.in, place.sample, place.at[0] * shape.stride[0] - shape.padding[0] + d,
                               place.at[1] * shape.stride[1] - shape.padding[1] + h,
                               place.at[2] * shape.stride[2] - shape.padding[2] + w);
        float x[kWidth<T>];
        unpack<T>(x, *reinterpret_cast<const uint4*>(from));
#pragma unroll
        for (int e = 0; e < kWidth<T>; ++e) {
          // The last NaN wins, else the first of the greatest, as in libtorch.
          if (first || x[e] > best[e] || isnan(x[e])) best[e] = x[e], found.values[e] = number;
        }
        first = false;
      }
    }
  }
  if (a.act.there) {
#pragma unroll
    for (int e = 0; e < kWidth<T>; ++e) {
      const bool acts = a.act.slope == 0 ? !passes_relu(best[e]) : !(best[e] > 0);
      if (!acts) continue;
      best[e] = a.act.slope == 0 ? 0 : best[e] * a.act.slope;
      found.values[e] = static_cast<std::uint8_t>(found.values[e] + kActed);
    }
  }
  const std::int64_t to = offset(shape, shape.out, place.sample, place.at[0], place.at[1], place.at[2]) + channel;
  *reinterpret_cast<uint4*>(static_cast<T*>(a.result) + to) = pack<T>(best);
  found.store(a.places + to);
}

template <typename T>
__global__ void __launch_bounds__(kBlockThreads) gradient_kernel(const __grid_constant__ Arguments a) {
  const PoolShape& shape = a.shape;
  const Position place(shape, shape.in, kWidth<T>);
  if (place.sample >= shape.samples) return;
  const Range depths = windows_with(shape, 0, place.at[0]), heights = windows_with(shape, 1, place.at[1]),
              widths = windows_with(shape, 2, place.at[2]);
  const int channel = place.vector * kWidth<T>;
  float sum[kWidth<T>] = {};
  for (int d = depths.begin; d < depths.end; ++d) {
    for (int h = heights.begin; h < heights.end; ++h) {
      for (int w = widths.begin; w < widths.end; ++w) {
        const int in_depth = place.at[0] + shape.padding[0] - d * shape.stride[0];
        const int in_height = place.at[1] + shape.padding[1] - h * shape.stride[1];
        const int in_width = place.at[2] + shape.padding[2] - w * shape.stride[2];
        const auto number =
            static_cast<unsigned>((in_depth * shape.kernel[1] + in_height) * shape.kernel[2] + in_width);
        const std::int64_t from = offset(shape, shape.out, place.sample, d, h, w) + channel;
        Places<T> found;
        found.load(a.found_places + from);
        float gradient[kWidth<T>];
        unpack<T>(gradient, *reinterpret_cast<const uint4*>(static_cast<const T*>(a.gradient) + from));
#pragma unroll
        for (int e = 0; e < kWidth<T>; ++e) {
          if (found.values[e] == number) sum[e] += gradient[e];
          if (a.act.there && found.values[e] == number + kActed) sum[e] += a.act.slope * gradient[e];
        }
      }
    }
  }
  const std::int64_t to = offset(shape, shape.in, place.sample, place.at[0], place.at[1], place.at[2]) + channel;
  *reinterpret_cast<uint4*>(static_cast<T*>(a.result) + to) = pack<T>(sum);
}

dim3 blocks_for(const PoolShape& shape, const int (&sizes)[3]) {
  const std::int64_t vectors = static_cast<std::int64_t>(shape.samples) * sizes[0] * sizes[1] * sizes[2] *
                               (shape.channels / vector_width(shape.type));
  return dim3(static_cast<unsigned>((vectors + kBlockThreads - 1) / kBlockThreads));
}

}  // namespace

cudaError_t launch_max_pool(const PoolShape& shape, const PoolAct& act, void* y, std::uint8_t* places, const void* x,
                            cudaStream_t stream) {
  const Arguments arguments{.shape = shape, .act = act, .x = x, .places = places, .result = y};
  return by_type(shape.type, [&](auto type) {
    max_kernel<decltype(type)><<<blocks_for(shape, shape.out), kBlockThreads, 0, stream>>>(arguments);
    return cudaGetLastError();
  });
}

cudaError_t launch_max_pool_gradient(const PoolShape& shape, const PoolAct& act, void* x_gradient, const void* gradient,
                                     const std::uint8_t* places, cudaStream_t stream) {
  const Arguments arguments{
      .shape = shape, .act = act, .gradient = gradient, .found_places = places, .result = x_gradient};
  return by_type(shape.type, [&](auto type) {
    gradient_kernel<decltype(type)><<<blocks_for(shape, shape.in), kBlockThreads, 0, stream>>>(arguments);
    return cudaGetLastError();
  });
}

}  // namespace lockstep::kernels::cuda
