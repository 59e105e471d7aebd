// A bias and the ReLU after it, in place; and its gradient, whose sums are taken in a fixed order: by each block over
// its rows, then over the blocks. A block has a chunk of channels and a split of the rows.
#include "channel_sums.cuh"
#include "launch.cuh"
#include "max_pool.cuh"

namespace lockstep::kernels::cuda {
namespace {

constexpr int kTogether = 4;  // rows of a thread whose loads are on their way at a time

// load(stage) gives what use(stage, loaded) takes, for all rows of a thread.
template <typename Loaded, typename T, typename Load, typename Use>
__device__ void for_rows(const ThreadPlace<T>& place, const Load& load, const Use& use) {
  for (int stage = place.part.begin; stage < place.part.end; stage += kTogether) {
    const auto has = [&](int k) { return stage + k < place.part.end && place.has(stage + k); };
    Loaded loaded[kTogether];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      if (has(k)) loaded[k] = load(stage + k);
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      if (has(k)) use(stage + k, loaded[k]);
    }
  }
}

template <typename T>
__device__ uint4 vector_at(const ThreadPlace<T>& place, const void* tensor, int stage) {
  return *reinterpret_cast<const uint4*>(place.at(tensor, stage));
}

template <typename T, bool kRelu>
__global__ void __launch_bounds__(kThreads, kBiasBlocks)
    bias_act_kernel(const __grid_constant__ BiasAct work, const __grid_constant__ Division batch) {
  const ThreadPlace<T> place(batch);
  if (place.channel >= batch.channels) return;
  float bias[kWidth<T>];
#pragma unroll
  for (int e = 0; e < kWidth<T>; ++e) bias[e] = work.bias[place.channel + e];
  for_rows<uint4>(
      place, [&](int stage) { return vector_at(place, work.y, stage); },
      [&](int stage, uint4 bits) {
        float values[kWidth<T>];
        unpack<T>(values, bits);
#pragma unroll
        for (int e = 0; e < kWidth<T>; ++e) {
          values[e] += bias[e];
          if (kRelu) values[e] = passes_relu(values[e]) ? values[e] : 0;
        }
        place.store(work.y, stage, pack<T>(values));
      });
}

// What says which gradients get by.
enum class By { kAll, kResults, kBits, kPlaces };

template <typename T, By kBy>
struct Passing {
  uint4 gradient, y, second;
  unsigned bits;
  Places<T> places;

  __device__ void load(const BiasGradient& work, const ThreadPlace<T>& place, int stage) {
    gradient = vector_at(place, work.gradient, stage);
    if constexpr (kBy == By::kResults) y = vector_at(place, work.y, stage);
    if constexpr (kBy == By::kBits) {
      const std::int64_t offset = place.offset(stage);
      bits = work.passed[offset / 8] >> offset % 8;
      if (work.second_gradient != nullptr) second = vector_at(place, work.second_gradient, stage);
    }
    if constexpr (kBy == By::kPlaces) places.load(work.places + place.offset(stage));
  }
  __device__ void unpack_to(float (&values)[kWidth<T>], const BiasGradient& work) const {
    unpack<T>(values, gradient);
    float results[kWidth<T>], more[kWidth<T>] = {};
    if constexpr (kBy == By::kResults) unpack<T>(results, y);
    if (kBy == By::kBits && work.second_gradient != nullptr) unpack<T>(more, second);
#pragma unroll
    for (int e = 0; e < kWidth<T>; ++e) {
      if constexpr (kBy == By::kResults) values[e] = passes_relu(results[e]) ? values[e] : 0;
      if constexpr (kBy == By::kBits) values[e] = (bits >> e & 1U) != 0 ? values[e] + more[e] : 0;
      if constexpr (kBy == By::kPlaces) {
        const float slope = work.act.slope, acted = slope == 0 ? 0 : values[e] * slope;
        values[e] = places.values[e] < kActed ? values[e] : acted;
      }
    }
  }
};

template <typename T, By kBy>
__global__ void __launch_bounds__(kThreads, kBiasBlocks)
    sum_kernel(const __grid_constant__ BiasGradient work, const __grid_constant__ Division batch, float* partials) {
  __shared__ Pair shared[kSumBytes / sizeof(Pair)];
  const ThreadPlace<T> place(batch);
  float sums[kWidth<T>] = {};
  for_rows<Passing<T, kBy>>(
      place,
      [&](int stage) {
        Passing<T, kBy> passing;
        passing.load(work, place, stage);
        return passing;
      },
      [&](int stage, const Passing<T, kBy>& passing) {
        float values[kWidth<T>];
        passing.unpack_to(values, work);
        if (work.masked != nullptr) place.store(work.masked, stage, pack<T>(values));
#pragma unroll
        for (int e = 0; e < kWidth<T>; ++e) sums[e] += values[e];
      });
  if (work.bias_gradient == nullptr) return;
  constexpr float kNothing[kWidth<T>] = {};
  const Pair sum = sum_over_rows<T>(shared, sums, kNothing);
  const int own = static_cast<int>(threadIdx.x), channel = place.chunk * ThreadPlace<T>::kChannels + own;
  if (own < ThreadPlace<T>::kChannels && channel < batch.channels) {
    partials[static_cast<std::int64_t>(place.split) * batch.channels + channel] = sum.first;
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    total_kernel(float* totals, const __grid_constant__ Division batch, const float* partials) {
  constexpr int kChannels = ThreadPlace<T>::kChannels, kGroups = kThreads / kChannels;
  __shared__ Pair shared[kThreads];
  const int own = static_cast<int>(threadIdx.x), channel = static_cast<int>(blockIdx.x) * kChannels + own % kChannels;
  float sum = 0;
#pragma unroll 4
  for (int split = own / kChannels; split < (channel < batch.channels ? batch.splits : 0); split += kGroups) {
    sum += partials[static_cast<std::int64_t>(split) * batch.channels + channel];
  }
  const Pair total = sum_over_groups<T>(shared, {sum, 0});
  if (own < kChannels && channel < batch.channels) totals[channel] = total.first;
}

// As many splits as there is room for at a time.
Division divided(const Rows& shape, const Device& device) {
  Division batch = division_of(shape);
  const int room = kBiasBlocks * device.multiprocessors / batch.chunks;
  batch.splits = room < 1 ? 1 : room < batch.stages ? room : batch.stages;
  return batch;
}

}  // namespace

cudaError_t launch_bias_act(const BiasAct& work, const Launch& launch) {
  const Division batch = divided(work.shape, launch.device);
  const int blocks = batch.chunks * batch.splits;
  return by_type(work.shape.type, [&](auto type) {
    using T = decltype(type);
    if (work.relu) {
      bias_act_kernel<T, true><<<blocks, kThreads, 0, launch.stream>>>(work, batch);
    } else {
      bias_act_kernel<T, false><<<blocks, kThreads, 0, launch.stream>>>(work, batch);
    }
    return cudaGetLastError();
  });
}

cudaError_t launch_bias_gradient(const BiasGradient& work, const Launch& launch) {
  const Division batch = divided(work.shape, launch.device);
  const int blocks = batch.chunks * batch.splits;
  return by_type(work.shape.type, [&](auto type) {
    using T = decltype(type);
    if (work.y != nullptr) {
      sum_kernel<T, By::kResults><<<blocks, kThreads, 0, launch.stream>>>(work, batch, launch.partials);
    } else if (work.passed != nullptr) {
      sum_kernel<T, By::kBits><<<blocks, kThreads, 0, launch.stream>>>(work, batch, launch.partials);
    } else if (work.places != nullptr && work.act.there) {
      sum_kernel<T, By::kPlaces><<<blocks, kThreads, 0, launch.stream>>>(work, batch, launch.partials);
    } else {
      sum_kernel<T, By::kAll><<<blocks, kThreads, 0, launch.stream>>>(work, batch, launch.partials);
    }
    const cudaError_t started = cudaGetLastError();
    if (started != cudaSuccess || work.bias_gradient == nullptr) return started;
    total_kernel<T><<<batch.chunks, kThreads, 0, launch.stream>>>(work.bias_gradient, batch, launch.partials);
    return cudaGetLastError();
  });
}

}  // namespace lockstep::kernels::cuda
