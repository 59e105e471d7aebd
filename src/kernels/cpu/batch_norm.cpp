#include <array>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include "../batch_norm_devices.h"
#include "../recorded.h"
#include "batch_norm_channels.h"
#include "channels_last.h"
#include "single_derivative.h"
#include "values.h"

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
  ChannelMoments moments = with_values_of(input, [&]<typename Value>(Value) {
    return batch_moments(kernels_for<Value>(*batch_norm_level()), values_of<Value>(input), rows, channels);
  });
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
  with_values_of(input, [&]<typename Value>(Value) {
    const NormalizeRows<Value> batch{
        .rows = input.numel() / input.size(1),
        .channels = input.size(1),
        .coefficients = kept_channels(kept).coefficients(),
        .x = values_of<Value>(input),
        .shortcut = options.shortcut.defined() ? values_of<Value>(options.shortcut) : nullptr,
        .relu = options.relu,
        .y = mutable_values_of<Value>(output),
        .positive = positive.defined() ? positive.mutable_data_ptr<std::uint8_t>() : nullptr};
    normalize_batch(kernels_for<Value>(*batch_norm_level()), batch);
  });
  return output;
}

class BatchNormAct : public torch::autograd::Function<BatchNormAct> {
 public:
  // Weight, bias and shortcut are those of `state` and `options`: here for libtorch to see.
  static variable_list forward(AutogradContext* context, const at::Tensor& input, const at::Tensor&, const at::Tensor&,
                               const std::optional<at::Tensor>& shortcut, const BatchNormState& state,
                               const NormAct& options, bool for_two) {
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
    const at::Tensor output = normalize(input, kept, options, positive);
    if (!for_two) return {output};
    return {output, output.variable_data()};
  }

  static variable_list backward(AutogradContext* context, variable_list& gradients) {
    require_single_derivative("batch normalization");
    variable_list results(7);  // as many as forward has arguments
    const at::Tensor input = context->get_saved_variables()[0];
    Given given;
    for (at::Tensor& gradient : gradients) {
      if (gradient.defined()) given[given[0].defined() ? 1 : 0] = take_channels_last(gradient, input);
    }
    if (!given[0].defined()) return results;
    with_values_of(input, [&]<typename Value>(Value) { backward_of<Value>(context, given, results); });
    return results;
  }

 private:
  using Given = std::array<at::Tensor, 2>;  // gradients; the second may be undefined

  template <typename Value>
  static void backward_of(AutogradContext* context, const Given& given, variable_list& results) {
    const BatchNormKernels<Value>& kernels = kernels_for<Value>(*batch_norm_level());
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &input = saved[0], &positive = saved[2];
    const KeptChannels kept = kept_channels(saved[1]);
    const bool for_shortcut = context->saved_data["adds"].toBool() && context->needs_input_grad(3);
    const bool relu = context->saved_data["relu"].toBool(), adds_up = given[1].defined();
    const Recorded recorded("lockstep::batch_norm_backward",
                            {.bytes = bytes_of({input, input, input, for_shortcut ? input : at::Tensor(), given[1]})});
    GradientRows<Value> rows{.rows = input.numel() / input.size(1),
                             .channels = input.size(1),
                             .coefficients = kept.coefficients(),
                             .gradient = values_of<Value>(given[0]),
                             .second = adds_up ? values_of<Value>(given[1]) : nullptr,
                             .x = values_of<Value>(input),
                             .relu = relu,
                             .positive = positive.defined() ? positive.const_data_ptr<std::uint8_t>() : nullptr};

    // Memory that nobody else sees is written over.
    variable_list spare;
    for (const at::Tensor& gradient : given) {
      if (gradient.defined() && is_ours(gradient)) spare.push_back(gradient);
    }
    const auto spare_or_new = [&] {
      if (spare.empty()) return at::empty_like(input);
      at::Tensor taken = std::move(spare.back());
      spare.pop_back();
      return taken;
    };

    // The gradient before the ReLU is also that of the shortcut, and the sum of two. Then the first pass writes it, and
    // the second reads it.
    at::Tensor masked = given[0];
    Value* written = nullptr;
    if ((for_shortcut && relu) || adds_up) written = mutable_values_of<Value>(masked = spare_or_new());
    const GradientSums sums = sum_gradients(kernels, written, rows);
    if (written != nullptr) rows.gradient = written, rows.relu = false;
    if (for_shortcut) results[3] = masked;

    results[1] = at::empty({kept.channels}, at::kFloat);
    results[2] = at::empty({kept.channels}, at::kFloat);
    parameter_gradients(results[1].mutable_data_ptr<float>(), results[2].mutable_data_ptr<float>(), kept, sums);
    if (!context->needs_input_grad(0)) return;
    const GradientFactors factors = gradient_factors(kept, sums, rows.rows);
    if (!for_shortcut && written != nullptr) spare.push_back(masked);
    if (for_shortcut) std::erase_if(spare, [&](const at::Tensor& tensor) { return tensor.is_same(results[3]); });
    results[0] = spare_or_new();
    input_gradient(kernels, mutable_values_of<Value>(results[0]), factors.slope.data(), factors.constant.data(), rows);
  }
};

}  // namespace

bool can_cpu_batch_norm_act(const at::Tensor& input, const BatchNormState& state, const NormAct& options) {
  if (batch_norm_level() == nullptr || !is_cpu_channels_last(input) || input.numel() == 0) return false;
  const at::Tensor& shortcut = options.shortcut;
  if (shortcut.defined() && !(is_cpu_channels_last(shortcut) && shortcut.scalar_type() == input.scalar_type() &&
                              shortcut.sizes() == input.sizes())) {
    return false;
  }
  const std::int64_t channels = input.size(1);
  if (!is_of_channels(state.weight, channels) || !is_of_channels(state.bias, channels)) return false;
  const bool tracks = is_of_channels(state.running_mean, channels) && is_of_channels(state.running_var, channels);
  if (!options.by_batch) return tracks;
  return tracks || (!state.running_mean.defined() && !state.running_var.defined());
}

ForTwo cpu_batch_norm_act(const at::Tensor& input, const BatchNormState& state, const NormAct& options, bool for_two) {
  if (wants_gradients(input, state, options)) {
    const auto shortcut = options.shortcut.defined() ? std::optional(options.shortcut) : std::nullopt;
    const variable_list outputs =
        BatchNormAct::apply(input, state.weight, state.bias, shortcut, state, options, for_two);
    return {outputs.front(), for_two ? outputs.back() : at::Tensor()};
  }
  const at::Tensor output =
      normalize(input, keep(options.by_batch ? moments_of(input, state) : running_moments(state), state), options);
  return {output, output};
}

}  // namespace lockstep::kernels
