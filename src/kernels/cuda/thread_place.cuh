// What one thread of a block works on: always the same vector of a row, and one row of each stage.
#pragma once
#include "async_copy.cuh"
#include "chunk.h"
#include "vector.cuh"

namespace lockstep::kernels::cuda {

template <typename T>
struct ThreadPlace {
  static constexpr int kChannels = kVectors * kWidth<T>;  // of a chunk

  __device__ explicit ThreadPlace(const Division& batch)
      : chunk(static_cast<int>(blockIdx.x) / batch.splits),
        split(static_cast<int>(blockIdx.x) % batch.splits),
        part(batch.of(split)),
        thread(static_cast<int>(threadIdx.x)),
        channel((chunk * kVectors + thread % kVectors) * kWidth<T>),
        row(thread / kVectors),
        rows(channel < batch.channels ? batch.rows : 0),
        stride(batch.channels) {}

  // Whether the thread has a row in this stage: not behind the last row, nor behind the last channel.
  __device__ bool has(int stage) const { return stage * kRows + row < rows; }
  // Where its vector begins, in elements.
  __device__ std::int64_t offset(int stage) const {
    return static_cast<std::int64_t>(stage * kRows + row) * stride + channel;
  }
  __device__ const T* at(const void* tensor, int stage) const { return static_cast<const T*>(tensor) + offset(stage); }
  __device__ void copy(uint4* slot, const void* tensor, int stage) const {
    if (has(stage)) copy_async(slot + thread, at(tensor, stage));
  }
  __device__ void store(void* tensor, int stage, uint4 vector) const {
    *reinterpret_cast<uint4*>(static_cast<T*>(tensor) + offset(stage)) = vector;
  }
  // Its byte of those that say which values a ReLU let by. They are kept chunk by chunk.
  __device__ std::int64_t byte(const Division& batch, int stage) const {
    return (static_cast<std::int64_t>(chunk) * batch.stages + stage) * kThreads + thread;
  }

  const int chunk, split;
  const Stages part;
  const int thread;
  const int channel, row;

 private:
  const int rows, stride;
};

// Where the stages of a split lie in shared memory: the first `kept` of them for good, the others in a ring behind
// them.
template <int kDepth>
struct Slots {
  static_assert((kDepth & (kDepth - 1)) == 0);
  __device__ int operator()(int number) const {
    return number < kept ? number : kept + ((number - kept) & (kDepth - 1));
  }
  int kept;
};

}  // namespace lockstep::kernels::cuda
