// What is done with a bucket of gradients in place of a plain all-reduce.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <lockstep/comm/group.h>

namespace lockstep {

// Gradients that travel together: `buffer` holds them end to end, and `gradients` are views of it, in the order and the
// shapes of `parameters`. Of complex ones, the buffer holds real and imaginary parts, as real numbers. The buckets of a
// module are numbered in the order in which they are reduced, on every rank the same.
struct GradientBucket {
  std::size_t index = 0;
  bool is_last = false;
  at::Tensor buffer;
  std::vector<at::Tensor> gradients;
  std::vector<at::Tensor> parameters;
};

// A reduction that was started. When backward has come to its end, `work` is waited for and then `finish`, if there is
// one, is called; after that the bucket's buffer must hold the averaged gradients. `finish` is called for one bucket
// after another, in their order, when all have been started: it may use collectives.
struct BucketWork {
  std::optional<Work> work;  // none where there is nothing to wait for
  std::function<void()> finish;
};

// Starts the reduction of a bucket, which must become an average over the group's ranks, without waiting for other
// ranks. Called during backward, in its thread, in the order of the buckets.
using CommHook = std::function<BucketWork(const GradientBucket& bucket, const Group& group)>;

// Gradients are sent in 16 bits: half the bytes. float16 has the finer steps, bfloat16 the range of float32. They are
// divided by the number of ranks before they are rounded, so that the sum cannot overflow.
CommHook fp16_compression();
CommHook bf16_compression();

struct PowerSgdOptions {
  int rank = 1;               // of the approximation, 1 to 8: more is more exact and sends more
  int start_iteration = 10;   // before it gradients are sent whole: approximating the first ones harms training
  int least_compression = 2;  // a matrix that would not shrink by this factor is sent whole
  std::uint64_t seed = 1;     // of the first approximation
};

// PowerSGD (Vogels, Karimireddy, Jaggi 2019): each matrix of gradients is sent as the product of two thin ones, found
// by one step of power iteration that starts from the last; what is lost is added to the next gradient (error
// feedback). Vectors are sent whole. The hook keeps state, so each DistributedDataParallel needs one of its own.
CommHook power_sgd(const PowerSgdOptions& options = {});

}  // namespace lockstep
