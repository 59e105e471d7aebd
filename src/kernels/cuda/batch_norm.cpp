#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/DeviceGuard.h>
#include <torch/csrc/autograd/custom_function.h>

#include "../batch_norm_devices.h"
#include "../cpu/channels_last.h"
#include "../cpu/single_derivative.h"
#include "convolution.h"
#include "every_nth.h"
#include "passed_gradient.h"
#include "tensors.h"

namespace lockstep::kernels {
namespace {

using cuda::floats_of;
using cuda::KeptChannels;
using cuda::longs_of;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

const void* values_of(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr() : nullptr;
}

KeptChannels channels_in(const at::Tensor& kept) {
  return cuda::kept_channels(kept.mutable_data_ptr<float>(), kept.size(1));
}

// By the batch's statistics, which it leaves in `kept`. `positive` is undefined, or for the bits of the ReLU.
// So is `sums`, for those of the result.
at::Tensor normalize(const at::Tensor& input, const BatchNormState& state, const NormAct& options,
                     const at::Tensor& kept, const at::Tensor& positive, const at::Tensor& sums) {
  at::Tensor output = at::empty_like(input);
  const at::Tensor of_window = known_of_window_convolve(input);
  const at::Tensor known = of_window.defined() ? of_window : known_of_cuda_convolve(input);
  cuda::kernels_on(input.device())
      ->batch_norm_forward({.shape = cuda::rows_of(input),
                            .x = input.const_data_ptr(),
                            .shortcut = values_of(options.shortcut),
                            .relu = options.relu,
                            .weight = state.weight.const_data_ptr<float>(),
                            .bias = state.bias.const_data_ptr<float>(),
                            .input_bias = floats_of(options.input_bias),
                            .running_mean = floats_of(state.running_mean),
                            .running_var = floats_of(state.running_var),
                            .batches = longs_of(state.batches),
                            .momentum = state.momentum,
                            .eps = state.eps,
                            .kept = channels_in(kept),
                            .y = output.mutable_data_ptr(),
                            .positive = positive.defined() ? positive.mutable_data_ptr<std::uint8_t>() : nullptr,
                            .y_sums = floats_of(sums),
                            .known = static_cast<const cuda::KnownValues*>(values_of(known)),
                            .known_parts = known.defined() ? static_cast<int>(known.size(0)) : 0});
  return output;
}

at::Tensor normalize_by_running(const at::Tensor& input, const BatchNormState& state, const NormAct& options) {
  at::Tensor output = at::empty_like(input);
  cuda::kernels_on(input.device())
      ->batch_norm_apply({.shape = cuda::rows_of(input),
                          .x = input.const_data_ptr(),
                          .shortcut = values_of(options.shortcut),
                          .relu = options.relu,
                          .weight = state.weight.const_data_ptr<float>(),
                          .bias = state.bias.const_data_ptr<float>(),
                          .running_mean = state.running_mean.const_data_ptr<float>(),
                          .running_var = state.running_var.const_data_ptr<float>(),
                          .eps = state.eps,
                          .y = output.mutable_data_ptr()});
  return output;
}

at::Tensor empty_kept(const at::Tensor& input) {
  return at::empty({KeptChannels::kArrays, input.size(1)}, input.options().dtype(at::kFloat));
}

class CudaBatchNormAct : public torch::autograd::Function<CudaBatchNormAct> {
 public:
  // Weight, biases and shortcut are those of `state` and `options`: here for libtorch to see.
  static variable_list forward(AutogradContext* context, const at::Tensor& input, const at::Tensor&, const at::Tensor&,
                               const std::optional<at::Tensor>& shortcut, const std::optional<at::Tensor>& input_bias,
                               const BatchNormState& state, const NormAct& options, bool for_two) {
    const at::Tensor kept = empty_kept(input);
    at::Tensor positive;
    if (options.relu && shortcut) {
      positive = at::empty({cuda::kernels_on(input.device())->positive_bytes(cuda::rows_of(input))},
                           at::TensorOptions(at::kByte).device(input.device()));
    }
    context->save_for_backward({input, kept, positive, input_bias.value_or(at::Tensor())});
    context->saved_data["relu"] = options.relu;
    context->saved_data["adds"] = shortcut.has_value();
    if (options.relu) context->saved_data[kPassed] = c10::IValue::make_capsule(c10::make_intrusive<PassedGradient>());
    if (shortcut) remember_shortcut(context, *shortcut);
    context->set_materialize_grads(false);
    at::Tensor sums;
    if (options.relu && !shortcut) {  // a product may come next, which needs them
      const int parts = cuda::kernels_on(input.device())->sum_parts(cuda::rows_of(input));
      sums = at::empty({parts, input.size(1)}, kept.options());
      context->saved_data["sums"] = sums;
    }
    const at::Tensor output = normalize(input, state, options, kept, positive, sums);
    if (!for_two) return {output};
    return {output, output.variable_data()};
  }

  static variable_list backward(AutogradContext* context, variable_list& gradients) {
    require_single_derivative("batch normalization");
    variable_list results(8);  // as many as forward has arguments
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &input = saved[0], &kept = saved[1], &positive = saved[2];
    const Left left = take_left(context, gradients);
    at::Tensor given[2];
    int count = 0;
    for (at::Tensor& gradient : gradients) {
      if (gradient.defined()) given[count++] = cuda::take_gradient(gradient, input);
    }
    if (left.is_few()) given[count] = count == 1 ? left.second : among_zeros(left, input);
    if (!given[0].defined()) return results;
    const at::Tensor &gradient = given[0], &second = given[1];
    const bool relu = context->saved_data["relu"].toBool();
    const bool adds = context->saved_data["adds"].toBool();
    const bool of_shortcut = adds && context->needs_input_grad(3);
    const bool of_input = context->needs_input_grad(0);
    const bool is_whole = left.sums.defined();

    // Memory that nobody else sees is written over.
    const bool owns[] = {is_ours(gradient), second.defined() && !left.is_few() && is_ours(second)};
    const auto given_or_new = [&](int i) { return owns[i] ? given[i] : at::empty_like(input); };
    at::Tensor masked;
    if (is_whole) {
      if (of_shortcut) results[3] = gradient;
      if (of_input) results[0] = given_or_new(of_shortcut ? 1 : 0);
    } else if (positive.defined() || second.defined()) {
      masked = given_or_new(0);
      if (of_shortcut) results[3] = masked;
      if (of_input) results[0] = of_shortcut ? given_or_new(1) : masked;
    } else {
      if (of_shortcut) results[3] = gradient;  // there is no ReLU
      if (of_input) results[0] = of_shortcut ? at::empty_like(input) : given_or_new(0);
    }
    // What is not there is not counted.
    if (saved[3].defined() && context->needs_input_grad(adds ? 4 : 3)) results[4] = at::zeros_like(saved[3]);
    results[1] = at::empty({input.size(1)}, kept.options());
    results[2] = at::empty({input.size(1)}, kept.options());
    cuda::kernels_on(input.device())
        ->batch_norm_backward({.shape = cuda::rows_of(input),
                               .x = input.const_data_ptr(),
                               .gradient = gradient.const_data_ptr(),
                               .second_gradient = is_whole ? nullptr : values_of(second),
                               .second_places = left.places_in(input),
                               .relu = relu && !is_whole,
                               .positive = cuda::bits_of(is_whole ? at::Tensor() : positive),
                               .kept = channels_in(kept),
                               .masked = masked.defined() ? masked.mutable_data_ptr() : nullptr,
                               .x_gradient = of_input ? results[0].mutable_data_ptr() : nullptr,
                               .weight_gradient = results[1].mutable_data_ptr<float>(),
                               .bias_gradient = results[2].mutable_data_ptr<float>(),
                               .known = static_cast<const cuda::GradientSums*>(values_of(left.sums)),
                               .known_parts = is_whole ? static_cast<int>(left.sums.size(0)) : 0});
    if (of_shortcut) tell_shortcut(context, results[3], results[2]);
    return results;
  }

  static constexpr const char* kPassed = "passed";

 private:
  // What readers left for this pass.
  struct Left {
    at::Tensor second;  // where it is of few places
    std::int64_t stride = 1;
    at::Tensor sums;  // where the first gradient is whole already

    bool is_few() const { return stride > 1; }
    cuda::FewPlaces places_in(const at::Tensor& input) const {
      return is_few() ? cuda::places_of(input.sizes(), stride) : cuda::FewPlaces();
    }
  };

  static Left take_left(AutogradContext* context, const variable_list& gradients) {
    const auto found = context->saved_data.find(kPassed);
    if (found == context->saved_data.end()) return {};
    const auto capsule = found->second.toCapsule();
    auto& passed = static_cast<PassedGradient&>(*capsule);
    Left left{.stride = std::exchange(passed.second_stride, 1)};
    const at::Tensor second = std::exchange(passed.second, {});
    if (left.is_few()) left.second = second;
    const at::Tensor whole = std::exchange(passed.whole, {}), sums = std::exchange(passed.sums, {});
    if (left.is_few() && gradients[1].defined()) refuse_third_reader();
    if (!whole.defined()) return left;
    const auto are_same = [](const at::Tensor& given, const at::Tensor& expected) {
      return given.defined() ? given.is_same(expected) : !expected.defined();
    };
    if (are_same(gradients[0], whole) && (gradients.size() == 1 || are_same(gradients[1], second))) {
      left.sums = sums;
    } else if (second.defined()) {
      refuse_third_reader();
    }  // else what the ReLU does to it once more changes nothing
    return left;
  }

  static at::Tensor among_zeros(const Left& left, const at::Tensor& input) {
    return cuda::among_zeros(left.second, input.sizes(), left.stride);
  }
};

}  // namespace

c10::intrusive_ptr<PassedGradient> passed_gradient_of(const at::Tensor& tensor, std::uint32_t result) {
  const auto* const node = dynamic_cast<torch::autograd::CppNode<CudaBatchNormAct>*>(tensor.grad_fn().get());
  if (node == nullptr || tensor.output_nr() != result) return {};
  const auto passed = node->ctx_.saved_data.find(CudaBatchNormAct::kPassed);
  if (passed == node->ctx_.saved_data.end()) return {};
  return c10::static_intrusive_pointer_cast<PassedGradient>(passed->second.toCapsule());
}

std::optional<NormalizedInput> normalized_input(const at::Tensor& result) {
  auto gradient = passed_gradient_of(result, 0);
  if (gradient == nullptr) return {};
  const auto& node = static_cast<const torch::autograd::CppNode<CudaBatchNormAct>&>(*result.grad_fn());
  const variable_list saved = node.ctx_.get_saved_variables();
  return NormalizedInput{.values = saved[0], .kept = saved[1], .positive = saved[2], .gradient = std::move(gradient)};
}

at::Tensor sums_of_cuda_batch_norm_act(const at::Tensor& result) {
  const auto* const node = dynamic_cast<torch::autograd::CppNode<CudaBatchNormAct>*>(result.grad_fn().get());
  if (node == nullptr || result._version() != 0) return {};  // somebody has changed it
  const auto sums = node->ctx_.saved_data.find("sums");
  return sums == node->ctx_.saved_data.end() ? at::Tensor() : sums->second.toTensor();
}

bool can_cuda_batch_norm_act(const at::Tensor& input, const BatchNormState& state, const NormAct& options) {
  if (cuda::kernels_on(input.device()) == nullptr || !cuda::is_taken(input)) return false;
  const at::Tensor& shortcut = options.shortcut;
  if (shortcut.defined() && !(cuda::is_taken(shortcut) && shortcut.sizes() == input.sizes() &&
                              shortcut.device() == input.device() && shortcut.scalar_type() == input.scalar_type())) {
    return false;
  }
  const auto fits = [&](const at::Tensor& tensor) { return cuda::is_of_channels(tensor, input); };
  if (!fits(state.weight) || !fits(state.bias)) return false;
  if (options.input_bias.defined() && !fits(options.input_bias)) return false;
  if (state.batches.defined() && state.batches.device() != input.device()) return false;
  const bool tracks = fits(state.running_mean) && fits(state.running_var);
  return tracks || (options.by_batch && !state.running_mean.defined() && !state.running_var.defined());
}

ForTwo cuda_batch_norm_act(const at::Tensor& input, const BatchNormState& state, const NormAct& options, bool for_two) {
  const c10::DeviceGuard guard(input.device());
  if (!options.by_batch || !wants_gradients(input, state, options)) {
    const at::Tensor output = options.by_batch ? normalize(input, state, options, empty_kept(input), {}, {})
                                               : normalize_by_running(input, state, options);
    return {output, output};
  }
  const auto optional = [](const at::Tensor& tensor) {
    return tensor.defined() ? std::optional(tensor) : std::nullopt;
  };
  const variable_list outputs = CudaBatchNormAct::apply(input, state.weight, state.bias, optional(options.shortcut),
                                                        optional(options.input_bias), state, options, for_two);
  return {outputs.front(), for_two ? outputs.back() : at::Tensor()};
}

}  // namespace lockstep::kernels
