// Vectors of 16 bytes: what a thread loads and stores at once. Arithmetic is done in floats.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels.h"

namespace lockstep::kernels::cuda {

template <typename T>
constexpr int kWidth = kVectorBytes / static_cast<int>(sizeof(T));

__device__ inline float to_float(float value) {
  return value;
}
__device__ inline float to_float(__nv_bfloat16 value) {
  return __bfloat162float(value);
}
__device__ inline float to_float(__half value) {
  return __half2float(value);
}

template <typename T>
__device__ T from_float(float value);
template <>
__device__ inline float from_float<float>(float value) {
  return value;
}
template <>
__device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float value) {
  return __float2bfloat16_rn(value);
}
template <>
__device__ inline __half from_float<__half>(float value) {
  return __float2half_rn(value);
}

template <typename T>
union Vector {
  uint4 bits;
  T values[kWidth<T>];
  __device__ Vector() {}
};

template <typename T>
__device__ inline void unpack(float (&to)[kWidth<T>], uint4 bits) {
  Vector<T> vector;
  vector.bits = bits;
#pragma unroll
  for (int e = 0; e < kWidth<T>; ++e) to[e] = to_float(vector.values[e]);
}

template <typename T>
__device__ inline uint4 pack(const float (&from)[kWidth<T>]) {
  Vector<T> vector;
#pragma unroll
  for (int e = 0; e < kWidth<T>; ++e) vector.values[e] = from_float<T>(from[e]);
  return vector.bits;
}

// NaN passes a ReLU, as in libtorch.
__device__ inline bool passes_relu(float value) {
  return !(value <= 0);
}

}  // namespace lockstep::kernels::cuda
