// Values of many tensors from one type to another, by one kernel.
#include "launch.cuh"
#include "vector.cuh"

namespace lockstep::kernels::cuda {
namespace {

constexpr int kBlockThreads = 256;
constexpr int kTogether = 2;  // groups of a thread whose loads are on their way at a time
constexpr int kGroup = 8;     // values of a thread side by side: as much as a vector has at most
constexpr int kChunk = kBlockThreads * kGroup * kTogether;  // values of a block

struct Arguments {
  CastPart parts[kMostCastParts];
  int ends[kMostCastParts];  // the blocks of all parts up to this one
};

template <typename T>
__device__ void load(float (&to)[kGroup], const T* from) {
#pragma unroll
  for (int i = 0; i < kGroup; i += kWidth<T>) {
    float values[kWidth<T>];
    unpack<T>(values, *reinterpret_cast<const uint4*>(from + i));
#pragma unroll
    for (int e = 0; e < kWidth<T>; ++e) to[i + e] = values[e];
  }
}

template <typename T>
__device__ void store(T* to, const float (&from)[kGroup]) {
#pragma unroll
  for (int i = 0; i < kGroup; i += kWidth<T>) {
    float values[kWidth<T>];
#pragma unroll
    for (int e = 0; e < kWidth<T>; ++e) values[e] = from[i + e];
    *reinterpret_cast<uint4*>(to + i) = pack<T>(values);
  }
}

template <typename To, typename From>
__global__ void __launch_bounds__(kBlockThreads) cast_kernel(const __grid_constant__ Arguments a) {
  const int block = static_cast<int>(blockIdx.x);
  int number = 0;
  while (block >= a.ends[number]) ++number;
  const CastPart part = a.parts[number];
  const From* const from = static_cast<const From*>(part.from);
  To* const to = static_cast<To*>(part.to);
  const std::int64_t first = static_cast<std::int64_t>(block - (number > 0 ? a.ends[number - 1] : 0)) * kChunk +
                             static_cast<std::int64_t>(threadIdx.x) * kGroup;
  float values[kTogether][kGroup];
#pragma unroll
  for (int i = 0; i < kTogether; ++i) {
    const std::int64_t at = first + i * kBlockThreads * kGroup;
    if (at + kGroup <= part.values) load(values[i], from + at);
  }
#pragma unroll
  for (int i = 0; i < kTogether; ++i) {
    const std::int64_t at = first + i * kBlockThreads * kGroup;
    if (at + kGroup <= part.values) {
      store(to + at, values[i]);
    } else {
      for (std::int64_t rest = at; rest < part.values; ++rest) to[rest] = from_float<To>(to_float(from[rest]));
    }
  }
}

}  // namespace

cudaError_t launch_cast(Number to, Number from, const CastPart* parts, int count, cudaStream_t stream) {
  Arguments arguments;
  std::int64_t blocks = 0;
  for (int i = 0; i < count; ++i) {
    arguments.parts[i] = parts[i];
    blocks += (parts[i].values + kChunk - 1) / kChunk;
    arguments.ends[i] = static_cast<int>(blocks);
  }
  if (blocks == 0) return cudaSuccess;
  return by_type(to, [&](auto wanted) {
    return by_type(from, [&](auto given) {
      cast_kernel<decltype(wanted), decltype(given)>
          <<<static_cast<unsigned>(blocks), kBlockThreads, 0, stream>>>(arguments);
      return cudaGetLastError();
    });
  });
}

}  // namespace lockstep::kernels::cuda
