#include <lockstep/nn/batch_norm.h>

#include <ATen/Context.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/kernels/engine.h>
#include <lockstep/kernels/fallback.h>
#include <lockstep/kernels/pointwise.h>

#include "../kernels/bias.h"

namespace lockstep::nn {
namespace {

using kernels::ForTwo;

at::Tensor add_and_rectify(at::Tensor normalized, const BatchNormImpl::Then& then) {
  if (then.shortcut.defined()) normalized.add_(then.shortcut);
  return then.relu ? at::relu_(normalized) : normalized;
}

at::Tensor with_bias(const at::Tensor& input, const at::Tensor& bias) {
  if (!bias.defined()) return input;
  return input + kernels::bias_for(input, bias);
}

ForTwo same_for_both(const at::Tensor& output) {
  return {output, output};
}

ForTwo batch_norm(bool for_two, const at::Tensor& input, const BatchNormState& state, bool by_batch,
                  const BatchNormImpl::Then& then = {}) {
  const kernels::NormAct options{
      .input_bias = then.input_bias, .shortcut = then.shortcut, .relu = then.relu, .by_batch = by_batch};
  if (kernels::engine() == kernels::Engine::kFused && kernels::can_batch_norm_act(input, state, options)) {
    if (for_two) return kernels::batch_norm_act_for_two(input, state, options);
    return same_for_both(kernels::batch_norm_act(input, state, options));
  }
  kernels::tell_fallback("batch normalization", input);
  if (state.batches.defined()) state.batches.add_(1);
  return same_for_both(add_and_rectify(
      at::batch_norm(with_bias(input, then.input_bias), state.weight, state.bias, state.running_mean, state.running_var,
                     by_batch, state.momentum, state.eps, at::globalContext().userEnabledCuDNN()),
      then));
}

void require_variance(const at::Tensor& input) {
  require_several_values(input.numel() / std::max<std::int64_t>(input.size(1), 1), input);
}

void require_fitting(const at::Tensor& input, std::int64_t channels) {
  if (input.dim() >= 2 && input.dim() <= 5 && input.size(1) == channels) return;
  throw UsageError({.message = "the input does not fit the normalization",
                    .found = c10::str("a tensor of shape ", input.sizes()),
                    .expected = fmt::format("2 to 5 dimensions, of which the second is {}", channels)});
}

}  // namespace

BatchNormImpl::BatchNormImpl(const torch::nn::BatchNormOptions& chosen_options) : options(chosen_options) {
  BatchNormImpl::reset();
}

void BatchNormImpl::reset() {
  const std::int64_t channels = options.num_features();
  weight = options.affine() ? at::ones({channels}).requires_grad_() : at::Tensor();
  bias = options.affine() ? at::zeros({channels}).requires_grad_() : at::Tensor();
  const bool tracks = options.track_running_stats();
  running_mean = tracks ? at::zeros({channels}) : at::Tensor();
  running_var = tracks ? at::ones({channels}) : at::Tensor();
  num_batches_tracked = tracks ? at::zeros({}, at::kLong) : at::Tensor();
  register_tensors();
}

void BatchNormImpl::register_tensors() {
  register_parameter("weight", weight, weight.defined() && weight.requires_grad());
  register_parameter("bias", bias, bias.defined() && bias.requires_grad());
  register_buffer("running_mean", running_mean);
  register_buffer("running_var", running_var);
  register_buffer("num_batches_tracked", num_batches_tracked);
}

at::Tensor BatchNormImpl::forward(const at::Tensor& input) {
  return forward_then(input, {});
}

at::Tensor BatchNormImpl::forward_then(const at::Tensor& input, const Then& then) {
  return forward_for(/*two=*/false, input, then).first;
}

ForTwo BatchNormImpl::forward_for_two(const at::Tensor& input, const Then& then) {
  return forward_for(/*two=*/true, input, then);
}

std::optional<ForTwo> BatchNormImpl::forward_pointwise(const at::Tensor& input, const at::Tensor& convolution,
                                                       const Then& then) {
  if (kernels::engine() != kernels::Engine::kFused || !is_training() || !is_counted_by_kernels()) return {};
  BatchNormState state = this->state();
  state.batches = num_batches_tracked;
  const kernels::NormAct act{.input_bias = then.input_bias, .shortcut = then.shortcut, .relu = then.relu};
  if (!kernels::can_pointwise_norm_act(input, convolution, state, act)) return {};
  return kernels::pointwise_norm_act(input, convolution, state, act);
}

BatchNormState BatchNormImpl::state() const {
  return {.weight = weight,
          .bias = bias,
          .running_mean = running_mean,
          .running_var = running_var,
          .momentum = options.momentum().value_or(0),
          .eps = options.eps()};
}

bool BatchNormImpl::is_counted_by_kernels() const {
  return options.momentum() && !normalizer_ &&
         (!num_batches_tracked.defined() || num_batches_tracked.scalar_type() == at::kLong);
}

ForTwo BatchNormImpl::forward_for(bool two, const at::Tensor& input, const Then& then) {
  require_fitting(input, options.num_features());
  BatchNormState state = this->state();
  if (is_training() && num_batches_tracked.defined()) {
    if (is_counted_by_kernels()) {
      state.batches = num_batches_tracked;  // whoever normalizes counts
    } else {
      num_batches_tracked += 1;
      // Without a momentum the running statistics are the average over all batches.
      if (!options.momentum()) state.momentum = 1 / num_batches_tracked.item<double>();
    }
  }
  if (is_training() && normalizer_) return same_for_both(add_and_rectify(normalizer_(input, state), then));
  const bool by_batch = is_training() || !running_mean.defined();
  if (by_batch) require_variance(input);
  return batch_norm(two, input, state, by_batch, then);
}

void BatchNormImpl::pretty_print(std::ostream& stream) const {
  stream << "lockstep::nn::BatchNorm(" << options.num_features() << ", eps=" << options.eps() << ")";
}

at::Tensor normalize_batch(const at::Tensor& input, const BatchNormState& state) {
  require_variance(input);
  return batch_norm(/*for_two=*/false, input, state, /*by_batch=*/true).first;
}

void require_several_values(std::int64_t values, const at::Tensor& input) {
  if (values != 1) return;
  throw UsageError({.message = "one value per channel has no variance to normalize by",
                    .found = c10::str("an input of shape ", input.sizes(), " while training"),
                    .expected = "more than 1 value per channel",
                    .next = "use a larger batch, or drop the last batch of the epoch"});
}

}  // namespace lockstep::nn
