#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include "../batch_norm_devices.h"
#include "../recorded.h"
#include "batch_norm_channels.h"
#include "channels_last.h"
#include "single_derivative.h"

namespace lockstep::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

bool is_of_channels(const at::Tensor& tensor, std::int64_t channels) {
  return tensor.defined() && is_cpu_float(tensor) && tensor.is_contiguous() && tensor.numel() == channels;
}

ChannelMoments running_moments(const BatchNormState& state) {
  const auto copy = [](const at::Tensor& tensor) {
    const float* values = tensor.const_data_ptr<float>();
    return std::vector<double>(values, values + tensor.numel());
  };
  return {copy(state.running_mean), copy(state.running_var)};
}

ChannelMoments moments_of(const at::Tensor& input, const BatchNormState& state) {
  const std::int64_t channels = input.size(1), rows = input.numel() / channels;
  ChannelMoments moments = batch_moments(*batch_norm_kernels(), input.const_data_ptr<float>(), rows, channels);
  if (state.running_mean.defined()) {
    update_running(state.running_mean.mutable_data_ptr<float>(), state.running_var.mutable_data_ptr<float>(), moments,
                   rows, state.momentum);
  }
  return moments;
}

KeptChannels kept_channels(const at::Tensor& kept) {
  return {kept.mutable_data_ptr<float>(), kept.size(1)};
}

at::Tensor keep(const ChannelMoments& moments, const BatchNormState& state) {
  at::Tensor kept = at::empty({KeptChannels::kArrays, state.weight.numel()}, at::kFloat);
  keep_channels(kept_channels(kept), moments, state.weight.const_data_ptr<float>(), state.bias.const_data_ptr<float>(),
                state.eps);
  return kept;
}

// `positive` is undefined, or for the bits of the ReLU.
at::Tensor normalize(const at::Tensor& input, const at::Tensor& kept, const NormAct& options,
                     const at::Tensor& positive = {}) {
  at::Tensor output = at::empty_like(input);
  normalize_batch(*batch_norm_kernels(),
                  {.rows = input.numel() / input.size(1),
                   .channels = input.size(1),
                   .coefficients = kept_channels(kept).coefficients(),
                   .x = input.const_data_ptr<float>(),
                   .shortcut = options.shortcut.defined() ? options.shortcut.const_data_ptr<float>() : nullptr,
                   .relu = options.relu,
                   .y = output.mutable_data_ptr<float>(),
                   .positive = positive.defined() ? positive.mutable_data_ptr<std::uint8_t>() : nullptr});
  return output;
}

class BatchNormAct : public torch::autograd::Function<BatchNormAct> {
 public:
  // Weight, bias and shortcut are those of `state` and `options`: here for libtorch to see.
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, const at::Tensor&, const at::Tensor&,
                            const std::optional<at::Tensor>& shortcut, const BatchNormState& state,
                            const NormAct& options) {
    const Recorded recorded("lockstep::batch_norm", {.bytes = bytes_of({input, options.shortcut, input})});
    const at::Tensor kept = keep(moments_of(input, state), state);
    at::Tensor positive;
    if (options.relu && shortcut) {
      positive = at::empty({input.numel() / input.size(1), bytes_of_bits(input.size(1))}, at::kByte);
    }
    context->save_for_backward({input, kept, positive});
    context->saved_data["relu"] = options.relu;
    context->saved_data["adds"] = shortcut.has_value();
    context->set_materialize_grads(false);
    return normalize(input, kept, options, positive);
  }

  static variable_list backward(AutogradContext* context, variable_list& gradients) {
    require_single_derivative("batch normalization");
    variable_list results(6);  // as many as forward has arguments
    if (!gradients[0].defined()) return results;
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &input = saved[0], &positive = saved[2];
    const KeptChannels kept = kept_channels(saved[1]);
    const bool for_shortcut = context->saved_data["adds"].toBool() && context->needs_input_grad(3);
    const Recorded recorded("lockstep::batch_norm_backward",
                            {.bytes = bytes_of({input, input, input, for_shortcut ? input : at::Tensor()})});
    at::Tensor gradient = take_channels_last(gradients[0], input);
    const bool ours = is_ours(gradient), relu = context->saved_data["relu"].toBool();
    GradientRows rows{.rows = input.numel() / input.size(1),
                      .channels = input.size(1),
                      .coefficients = kept.coefficients(),
                      .gradient = gradient.const_data_ptr<float>(),
                      .x = input.const_data_ptr<float>(),
                      .relu = relu,
                      .positive = positive.defined() ? positive.const_data_ptr<std::uint8_t>() : nullptr};

    // Behind a ReLU, the first pass writes the gradient of the shortcut and the second reads it. Else it is that of y.
    float* masked = nullptr;
    if (for_shortcut) results[3] = !relu || ours ? gradient : at::empty_like(input);
    if (for_shortcut && relu) masked = results[3].mutable_data_ptr<float>();
    const GradientSums sums = sum_gradients(*batch_norm_kernels(), masked, rows);
    if (masked != nullptr) rows.gradient = masked, rows.relu = false;

    results[1] = at::empty({kept.channels}, at::kFloat);
    results[2] = at::empty({kept.channels}, at::kFloat);
    parameter_gradients(results[1].mutable_data_ptr<float>(), results[2].mutable_data_ptr<float>(), kept, sums);
    if (!context->needs_input_grad(0)) return results;
    const GradientFactors factors = gradient_factors(kept, sums, rows.rows);
    results[0] = ours && !for_shortcut ? gradient : at::empty_like(input);
    input_gradient(*batch_norm_kernels(), results[0].mutable_data_ptr<float>(), factors.slope.data(),
                   factors.constant.data(), rows);
    return results;
  }
};

}  // namespace

bool can_cpu_batch_norm_act(const at::Tensor& input, const BatchNormState& state, const NormAct& options) {
  if (batch_norm_kernels() == nullptr || !is_channels_last_float(input) || input.numel() == 0) return false;
  const at::Tensor& shortcut = options.shortcut;
  if (shortcut.defined() && !(is_channels_last_float(shortcut) && shortcut.sizes() == input.sizes())) return false;
  const std::int64_t channels = input.size(1);
  if (!is_of_channels(state.weight, channels) || !is_of_channels(state.bias, channels)) return false;
  const bool tracks = is_of_channels(state.running_mean, channels) && is_of_channels(state.running_var, channels);
  if (!options.by_batch) return tracks;
  return tracks || (!state.running_mean.defined() && !state.running_var.defined());
}

at::Tensor cpu_batch_norm_act(const at::Tensor& input, const BatchNormState& state, const NormAct& options) {
  if (wants_gradients(input, state, options)) {
    const auto shortcut = options.shortcut.defined() ? std::optional(options.shortcut) : std::nullopt;
    return BatchNormAct::apply(input, state.weight, state.bias, shortcut, state, options);
  }
  return normalize(input, keep(options.by_batch ? moments_of(input, state) : running_moments(state), state), options);
}

}  // namespace lockstep::kernels
