#include <ATen/OpMathType.h>
#include <ATen/ops/batch_norm_update_stats.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/native_batch_norm_backward.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>

#include "norm_arithmetic.h"

namespace lockstep::parallel {
namespace {

// The type that sums over a batch are made in.
at::ScalarType sum_type(const at::Tensor& input) {
  return at::toOpMathType(input.scalar_type());
}

// A vector of channels, shaped to be multiplied with `input`.
at::Tensor across(const at::Tensor& channels, const at::Tensor& input) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(input.dim()), 1);
  shape[1] = channels.numel();
  return channels.view(shape);
}

// at::batch_norm's kernel for evaluation: one pass, in the layout of `input`.
at::Tensor scale_and_shift(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                           const BatchStatistics& statistics, double eps) {
  const auto type = weight.defined() ? weight.scalar_type() : sum_type(input);
  return std::get<0>(at::native_batch_norm(input, weight, bias, statistics.mean.to(type), statistics.spread.to(type),
                                           /*training=*/false, /*momentum=*/0, eps));
}

// Statistics are means and variances in float64, whatever the input's type: there are few of them, and a sum over ranks
// then loses nothing. Variances are combined by the distances of the means, never as a difference of large numbers.
class CpuNormArithmetic : public NormArithmetic {
 public:
  at::Tensor local_statistics(const at::Tensor& input, double) const override {
    const std::int64_t channels = input.size(1);
    if (input.numel() == 0) return at::zeros({2 * channels + 1}, at::kDouble);
    const auto [mean, variance] = at::batch_norm_update_stats(input.to(sum_type(input)), {}, {}, /*momentum=*/0);
    const at::Tensor count = at::full({1}, values_per_channel(input), at::kDouble);
    return at::cat({mean.to(at::kDouble), variance.to(at::kDouble), count});
  }

  BatchStatistics combine(const at::Tensor& gathered, const at::Tensor& input,
                          const nn::BatchNormState& state) const override {
    const std::int64_t channels = input.size(1);
    const at::Tensor means = gathered.narrow(1, 0, channels), variances = gathered.narrow(1, channels, channels);
    const at::Tensor counts = gathered.narrow(1, 2 * channels, 1);
    const double total = counts.sum().item<double>();
    nn::require_several_values(static_cast<std::int64_t>(total), input);
    const at::Tensor shares = counts / std::max(total, 1.0);
    const at::Tensor mean = (means * shares).sum(0);
    const at::Tensor variance = (((means - mean).square() + variances) * shares).sum(0);
    if (state.running_mean.defined() && total > 0) {
      state.running_mean.lerp_(mean.to(state.running_mean.scalar_type()), state.momentum);
      const at::Tensor unbiased = variance * (total / (total - 1));
      state.running_var.lerp_(unbiased.to(state.running_var.scalar_type()), state.momentum);
    }
    return {.mean = mean, .spread = variance, .counts = counts.sum()};
  }

  at::Tensor normalize(const at::Tensor& input, const nn::BatchNormState& state,
                       const BatchStatistics& statistics) const override {
    return scale_and_shift(input, state.weight, state.bias, statistics, state.eps);
  }

  GradientSums gradient_sums(const at::Tensor& gradient, const NormalizedBatch& batch) const override {
    const at::Tensor input = batch.input.to(sum_type(batch.input));
    const at::Tensor mean = batch.statistics.mean.to(input.scalar_type());
    const at::Tensor variance = batch.statistics.spread.to(input.scalar_type());
    // With given statistics the gradients of weight and bias are the two sums.
    const auto [none, with_input, alone] =
        at::native_batch_norm_backward(gradient.to(input.scalar_type()), input, at::ones_like(mean), mean, variance, {},
                                       {}, /*train=*/false, batch.eps, {false, true, true});
    return {.for_input = at::cat({alone, with_input}).to(at::kDouble), .weight = with_input, .bias = alone};
  }

  // With n normalized values x and gradients g of the output: weight / deviation * (g - sum(g) / n - x * sum(g x) / n).
  // What x is multiplied with and what is added go through the kernel of forward, g follows: two passes.
  at::Tensor input_gradient(const at::Tensor& gradient, const NormalizedBatch& batch,
                            const at::Tensor& sums) const override {
    const at::Tensor input = batch.input.to(sum_type(batch.input));
    const std::int64_t channels = input.size(1);
    at::Tensor scale = (batch.statistics.spread + batch.eps).rsqrt();
    if (batch.weight.defined()) scale = scale * batch.weight.to(at::kDouble);
    const at::Tensor averages = sums / batch.statistics.counts;
    const at::Tensor bias = -scale * averages.narrow(0, 0, channels);
    const at::Tensor weight = -scale * averages.narrow(0, channels, channels);
    const at::Tensor rest = scale_and_shift(input, weight.to(input.scalar_type()), bias.to(input.scalar_type()),
                                            batch.statistics, batch.eps);
    return rest.addcmul_(gradient.to(input.scalar_type()), across(scale.to(input.scalar_type()), input))
        .to(batch.input.scalar_type());
  }
};

}  // namespace

const NormArithmetic& cpu_norm_arithmetic() {
  static const CpuNormArithmetic arithmetic;
  return arithmetic;
}

}  // namespace lockstep::parallel
