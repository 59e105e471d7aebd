// Batch normalization of a whole batch by several threads. The rows are divided into chunks by their number alone, and
// sums are added up in the order of the chunks, so results do not depend on the threads. A Value is a float or a
// Bfloat16.
#pragma once
#include <vector>

#include "batch_norm_kernels.h"

namespace lockstep::kernels {

struct ChannelMoments {
  std::vector<double> mean, variance;  // of all values of a channel, without Bessel's correction
};
template <typename Value>
ChannelMoments batch_moments(const BatchNormKernels<Value>& kernels, const Value* x, std::int64_t rows,
                             std::int64_t channels);

// The pass that follows another goes through the rows from the end, where some of them are still in a cache.
template <typename Value>
void normalize_batch(const BatchNormKernels<Value>& kernels, const NormalizeRows<Value>& batch);

struct GradientSums {
  std::vector<double> gradient, product;  // with x - center
};
template <typename Value>
GradientSums sum_gradients(const BatchNormKernels<Value>& kernels, Value* masked, const GradientRows<Value>& batch);

// Likewise from the end.
template <typename Value>
void input_gradient(const BatchNormKernels<Value>& kernels, Value* out, const float* slope, const float* constant,
                    const GradientRows<Value>& batch);

}  // namespace lockstep::kernels
