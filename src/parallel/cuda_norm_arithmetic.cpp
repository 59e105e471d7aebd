#include <ATen/OpMathType.h>
#include <ATen/ops/batch_norm_backward_elemt.h>
#include <ATen/ops/batch_norm_backward_reduce.h>
#include <ATen/ops/batch_norm_elemt.h>
#include <ATen/ops/batch_norm_gather_stats_with_counts.h>
#include <ATen/ops/batch_norm_stats.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>

#include "norm_arithmetic.h"

namespace lockstep::parallel {
namespace {

// The kernel that combines divides by the number of values seen so far, which must not be zero after an empty rank.
// Next to any real count this one vanishes; as a whole number it is 0.
constexpr double kNoValues = 1e-20;

// What the kernels take: contiguous, or channels-last.
at::Tensor in_known_layout(const at::Tensor& tensor) {
  const bool last =
      tensor.is_contiguous(at::MemoryFormat::ChannelsLast) || tensor.is_contiguous(at::MemoryFormat::ChannelsLast3d);
  return last ? tensor : tensor.contiguous();
}

// ATen's kernels for this very purpose. The host waits for nothing, so a step can be a CUDA graph.
class CudaNormArithmetic : public NormArithmetic {
 public:
  at::Tensor local_statistics(const at::Tensor& input, double eps) const override {
    const auto options = input.options().dtype(at::toOpMathType(input.scalar_type()));
    if (input.numel() == 0) {
      const std::int64_t channels = input.size(1);
      return at::cat(
          {at::full({channels}, 0, options), at::full({channels}, 1, options), at::full({1}, kNoValues, options)});
    }
    const auto [mean, inverse_deviation] = at::batch_norm_stats(in_known_layout(input), eps);
    return at::cat({mean, inverse_deviation, at::full({1}, values_per_channel(input), options)});
  }

  BatchStatistics combine(const at::Tensor& gathered, const at::Tensor& input,
                          const nn::BatchNormState& state) const override {
    const std::int64_t channels = input.size(1);
    at::Tensor counts = gathered.narrow(1, 2 * channels, 1).reshape({-1});
    // Only where the answer can be yes is it worth to wait for it.
    if (values_per_channel(input) <= 1) {
      nn::require_several_values(counts.to(at::kInt).sum().item<std::int64_t>(), input);
    }
    const auto [mean, inverse_deviation] = at::batch_norm_gather_stats_with_counts(
        input, gathered.narrow(1, 0, channels), gathered.narrow(1, channels, channels), state.running_mean,
        state.running_var, state.momentum, state.eps,
        state.running_mean.defined() ? counts.to(state.running_mean.scalar_type()) : counts);
    return {.mean = mean, .spread = inverse_deviation, .counts = counts.to(at::kInt)};
  }

  at::Tensor normalize(const at::Tensor& input, const nn::BatchNormState& state,
                       const BatchStatistics& statistics) const override {
    return at::batch_norm_elemt(in_known_layout(input), state.weight, state.bias, statistics.mean, statistics.spread,
                                state.eps);
  }

  GradientSums gradient_sums(const at::Tensor& gradient, const NormalizedBatch& batch) const override {
    const bool affine = batch.weight.defined();
    const auto [alone, with_input, weight, bias] =
        at::batch_norm_backward_reduce(in_known_layout(gradient), in_known_layout(batch.input), batch.statistics.mean,
                                       batch.statistics.spread, batch.weight, true, affine, affine);
    return {.for_input = at::cat({alone, with_input}), .weight = weight, .bias = bias};
  }

  at::Tensor input_gradient(const at::Tensor& gradient, const NormalizedBatch& batch,
                            const at::Tensor& sums) const override {
    const std::int64_t channels = batch.input.size(1);
    const at::Tensor& mean = batch.statistics.mean;
    return at::batch_norm_backward_elemt(
        in_known_layout(gradient), in_known_layout(batch.input), mean, batch.statistics.spread,
        batch.weight.defined() ? batch.weight.to(mean.scalar_type()) : at::Tensor(), sums.narrow(0, 0, channels),
        sums.narrow(0, channels, channels), batch.statistics.counts);
  }
};

}  // namespace

const NormArithmetic& cuda_norm_arithmetic() {
  static const CudaNormArithmetic arithmetic;
  return arithmetic;
}

}  // namespace lockstep::parallel
