// The mean of each sample's rows, and its gradient. A thread has one vector of channels of one result.
#include "launch.cuh"
#include "vector.cuh"

namespace lockstep::kernels::cuda {
namespace {

constexpr int kBlockThreads = 128;

struct Arguments {
  Rows means;
  std::int64_t positions;
  const void* from;
  void* to;
};

template <typename T>
__device__ const uint4& vector_at(const void* tensor, std::int64_t row, std::int64_t channels, std::int64_t channel) {
  return *reinterpret_cast<const uint4*>(static_cast<const T*>(tensor) + row * channels + channel);
}

// The number of this thread's vector among all.
__device__ std::int64_t own_vector() {
  return static_cast<std::int64_t>(blockIdx.x) * kBlockThreads + threadIdx.x;
}

template <typename T>
__global__ void __launch_bounds__(kBlockThreads) mean_kernel(const __grid_constant__ Arguments a) {
  const std::int64_t channels = a.means.channels, vectors = channels / kWidth<T>, own = own_vector();
  const std::int64_t sample = own / vectors, channel = own % vectors * kWidth<T>;
  if (sample >= a.means.rows) return;
  float sum[kWidth<T>] = {};
#pragma unroll 4
  for (std::int64_t position = 0; position < a.positions; ++position) {
    float x[kWidth<T>];
    unpack<T>(x, vector_at<T>(a.from, sample * a.positions + position, channels, channel));
#pragma unroll
    for (int e = 0; e < kWidth<T>; ++e) sum[e] += x[e];
  }
#pragma unroll
  for (int e = 0; e < kWidth<T>; ++e) sum[e] /= static_cast<float>(a.positions);
  *reinterpret_cast<uint4*>(static_cast<T*>(a.to) + sample * channels + channel) = pack<T>(sum);
}

template <typename T>
__global__ void __launch_bounds__(kBlockThreads) gradient_kernel(const __grid_constant__ Arguments a) {
  const std::int64_t channels = a.means.channels, vectors = channels / kWidth<T>, own = own_vector();
  const std::int64_t row = own / vectors, channel = own % vectors * kWidth<T>;
  if (row >= a.means.rows * a.positions) return;
  float gradient[kWidth<T>];
  unpack<T>(gradient, vector_at<T>(a.from, row / a.positions, channels, channel));
#pragma unroll
  for (int e = 0; e < kWidth<T>; ++e) gradient[e] /= static_cast<float>(a.positions);
  *reinterpret_cast<uint4*>(static_cast<T*>(a.to) + row * channels + channel) = pack<T>(gradient);
}

unsigned blocks_for(const Rows& means, std::int64_t rows_of_sample) {
  const std::int64_t vectors = means.rows * rows_of_sample * means.channels / vector_width(means.type);
  return static_cast<unsigned>((vectors + kBlockThreads - 1) / kBlockThreads);
}

}  // namespace

cudaError_t launch_average_pool(const Rows& means, std::int64_t positions, void* y, const void* x,
                                cudaStream_t stream) {
  return by_type(means.type, [&](auto type) {
    mean_kernel<decltype(type)><<<blocks_for(means, 1), kBlockThreads, 0, stream>>>({means, positions, x, y});
    return cudaGetLastError();
  });
}

cudaError_t launch_average_pool_gradient(const Rows& means, std::int64_t positions, void* x_gradient,
                                         const void* gradient, cudaStream_t stream) {
  return by_type(means.type, [&](auto type) {
    gradient_kernel<decltype(type)>
        <<<blocks_for(means, positions), kBlockThreads, 0, stream>>>({means, positions, gradient, x_gradient});
    return cudaGetLastError();
  });
}

}  // namespace lockstep::kernels::cuda
