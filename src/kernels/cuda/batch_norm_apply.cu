// Batch normalization by running statistics, the sum with a shortcut and the ReLU: one pass over the rows.
#include "chunk.h"
#include "launch.cuh"
#include "vector.cuh"

namespace lockstep::kernels::cuda {
namespace {

constexpr int kBlockThreads = 256, kBlockRows = kBlockThreads / kVectors;
constexpr int kTogether = 4;  // rows of a thread whose loads are on their way at a time
constexpr int kRowsOfThread = 16;

template <typename T, bool kAdds>
__global__ void __launch_bounds__(kBlockThreads) apply_kernel(const __grid_constant__ BatchNormApply work) {
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t channels = work.shape.channels;
  const std::int64_t channel = (static_cast<std::int64_t>(blockIdx.y) * kVectors + thread % kVectors) * kWidth<T>;
  if (channel >= channels) return;
  float center[kWidth<T>], scale[kWidth<T>], offset[kWidth<T>];
#pragma unroll
  for (int e = 0; e < kWidth<T>; ++e) {
    center[e] = work.running_mean[channel + e];
    scale[e] = work.weight[channel + e] / sqrtf(work.running_var[channel + e] + static_cast<float>(work.eps));
    offset[e] = work.bias[channel + e];
  }
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kBlockRows * kRowsOfThread + thread / kVectors;
  for (int i = 0; i < kRowsOfThread; i += kTogether) {
    uint4 x[kTogether], shortcut[kTogether];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const std::int64_t row = first + (i + k) * kBlockRows, at = row * channels + channel;
      if (row >= work.shape.rows) continue;
      x[k] = *reinterpret_cast<const uint4*>(static_cast<const T*>(work.x) + at);
      if constexpr (kAdds) shortcut[k] = *reinterpret_cast<const uint4*>(static_cast<const T*>(work.shortcut) + at);
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const std::int64_t row = first + (i + k) * kBlockRows, at = row * channels + channel;
      if (row >= work.shape.rows) continue;
      float values[kWidth<T>], more[kWidth<T>];
      unpack<T>(values, x[k]);
      if constexpr (kAdds) unpack<T>(more, shortcut[k]);
#pragma unroll
      for (int e = 0; e < kWidth<T>; ++e) {
        values[e] = fmaf(values[e] - center[e], scale[e], offset[e]);
        if constexpr (kAdds) values[e] += more[e];
        if (work.relu && !passes_relu(values[e])) values[e] = 0;
      }
      *reinterpret_cast<uint4*>(static_cast<T*>(work.y) + at) = pack<T>(values);
    }
  }
}

}  // namespace

cudaError_t launch_apply(const BatchNormApply& work, cudaStream_t stream) {
  constexpr int kRowsOfBlock = kBlockRows * kRowsOfThread;
  const dim3 blocks(static_cast<unsigned>((work.shape.rows + kRowsOfBlock - 1) / kRowsOfBlock),
                    static_cast<unsigned>(division_of(work.shape).chunks));
  return by_type(work.shape.type, [&](auto type) {
    using T = decltype(type);
    if (work.shortcut != nullptr) {
      apply_kernel<T, true><<<blocks, kBlockThreads, 0, stream>>>(work);
    } else {
      apply_kernel<T, false><<<blocks, kBlockThreads, 0, stream>>>(work);
    }
    return cudaGetLastError();
  });
}

}  // namespace lockstep::kernels::cuda
