// What the kernels of max pooling share.
#pragma once
#include "launch.cuh"
#include "vector.cuh"

namespace lockstep::kernels::cuda {

constexpr unsigned kActed = 128;  // added to the place of a maximum that the act changes

// A byte for each channel of a vector.
template <typename T>
union Places {
  static_assert(kWidth<T> == 4 || kWidth<T> == 8);
  uint2 bits;  // of which a vector of floats has the first half
  std::uint8_t values[8];

  __device__ Places() {}
  __device__ void load(const std::uint8_t* from) {
    if constexpr (kWidth<T> == 8) bits = *reinterpret_cast<const uint2*>(from);
    if constexpr (kWidth<T> == 4) bits.x = *reinterpret_cast<const unsigned*>(from);
  }
  __device__ void store(std::uint8_t* to) const {
    if constexpr (kWidth<T> == 8) *reinterpret_cast<uint2*>(to) = bits;
    if constexpr (kWidth<T> == 4) *reinterpret_cast<unsigned*>(to) = bits.x;
  }
};

// The maxima of a vector's windows, and where they were found.
template <typename T>
struct Maxima {
  float values[kWidth<T>];
  Places<T> places;

  __device__ void start(uint4 bits, int place) {
    unpack<T>(values, bits);
#pragma unroll
    for (int e = 0; e < kWidth<T>; ++e) places.values[e] = static_cast<std::uint8_t>(place);
  }
  // The last NaN wins, else the first of the greatest, as in libtorch.
  __device__ void meet(uint4 bits, int place) {
    float x[kWidth<T>];
    unpack<T>(x, bits);
#pragma unroll
    for (int e = 0; e < kWidth<T>; ++e) {
      const bool wins = static_cast<int>(x[e] > values[e]) | static_cast<int>(isnan(x[e]));  // without a branch
      values[e] = wins ? x[e] : values[e];
      places.values[e] = wins ? static_cast<std::uint8_t>(place) : places.values[e];
    }
  }
  // The bias of the vector's channels.
  __device__ void add(const float* bias) {
#pragma unroll
    for (int e = 0; e < kWidth<T>; ++e) values[e] += bias[e];
  }
  __device__ void rectify(const PoolAct& act) {
    if (!act.there) return;
    if (act.slope == 0) {
      rectify([](float value) { return !passes_relu(value); }, [](float) { return 0.0F; });
    } else {
      rectify([](float value) { return !(value > 0); }, [&](float value) { return value * act.slope; });
    }
  }

 private:
  template <typename Acts, typename Act>
  __device__ void rectify(const Acts& acts, const Act& act) {
#pragma unroll
    for (int e = 0; e < kWidth<T>; ++e) {
      const unsigned acted = acts(values[e]) ? kActed : 0;
      values[e] = acted != 0 ? act(values[e]) : values[e];
      places.values[e] = static_cast<std::uint8_t>(places.values[e] + acted);
    }
  }
};

// The gradients of a vector's windows, and the places that they go to.
template <typename T>
struct Gradients {
  float values[kWidth<T>];
  Places<T> places;

  // Takes the act out of them. A place of a ReLU that let nothing by stays one that no window has.
  __device__ void take(uint4 bits, const PoolAct& act) {
    unpack<T>(values, bits);
    if (!act.there || act.slope == 0) return;
#pragma unroll
    for (int e = 0; e < kWidth<T>; ++e) {
      if (places.values[e] < kActed) continue;
      values[e] *= act.slope;
      places.values[e] = static_cast<std::uint8_t>(places.values[e] - kActed);
    }
  }
  __device__ void add_to(float (&sums)[kWidth<T>], int place) const {
#pragma unroll
    for (int e = 0; e < kWidth<T>; ++e) {
      if (places.values[e] == place) sums[e] += values[e];
    }
  }
};

// The kernels of windows whose sizes the compiler knows. They take pictures only.
bool is_common_window(const PoolShape& shape);
cudaError_t launch_common_max_pool(const MaxPoolForward& work, cudaStream_t stream);
cudaError_t launch_common_max_pool_gradient(const MaxPoolBackward& work, cudaStream_t stream);

}  // namespace lockstep::kernels::cuda
