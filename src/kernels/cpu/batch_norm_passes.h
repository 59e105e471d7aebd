// Batch normalization of a whole batch by several threads. The rows are divided into chunks by their number alone, and
// sums are added up in the order of the chunks, so results do not depend on the threads.
#pragma once
#include <vector>

#include "batch_norm_kernels.h"

namespace lockstep::kernels {

struct ChannelMoments {
  std::vector<double> mean, variance;  // of all values of a channel, without Bessel's correction
};
ChannelMoments batch_moments(const BatchNormKernels& kernels, const float* x, std::int64_t rows, std::int64_t channels);

// The pass that follows another goes through the rows from the end, where some of them are still in a cache.
void normalize_batch(const BatchNormKernels& kernels, const NormalizeRows& batch);

struct GradientSums {
  std::vector<double> gradient, product;  // with x - center
};
GradientSums sum_gradients(const BatchNormKernels& kernels, float* masked, const GradientRows& batch);

// Likewise from the end.
void input_gradient(const BatchNormKernels& kernels, float* out, const float* slope, const float* constant,
                    const GradientRows& batch);

}  // namespace lockstep::kernels
