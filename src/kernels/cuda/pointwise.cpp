#include <lockstep/kernels/pointwise.h>

#include <ATen/TracerMode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/DeviceGuard.h>
#include <torch/csrc/autograd/custom_function.h>

#include "../batch_norm_devices.h"
#include "../cpu/single_derivative.h"
#include "every_nth.h"
#include "joined_gradient.h"
#include "normalized_product.h"
#include "products.h"
#include "tensors.h"

namespace lockstep::kernels {
namespace {

using cuda::NormalizedGradient;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Fewer rows for each input are not worth the work on matrices of weights.
constexpr std::int64_t kRowsForInput = 64;

class PointwiseNormAct : public torch::autograd::Function<PointwiseNormAct> {
 public:
  // Weight, bias and shortcut of the normalization are those of `state` and `options`: here for libtorch to see.
  static variable_list forward(AutogradContext* context, const at::Tensor& input, const at::Tensor& weight,
                               const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>& shortcut,
                               const BatchNormState& state, const NormAct& options) {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const cuda::FoldedProduct folded = cuda::fold(input, weight, state);
    auto joined = c10::make_intrusive<JoinedGradient>();
    if (options.relu) {
      joined->positive = at::empty({input.numel() / input.size(1) * weight.size(0) / 8},
                                   at::TensorOptions(at::kByte).device(input.device()));
    }
    const at::Tensor output = cuda::normalized_product(input, folded, options, joined->positive);
    context->save_for_backward({input, weight, folded.kept.sums, folded.kept.covariances, folded.kept.channels});
    context->saved_data["joined"] = c10::IValue::make_capsule(std::move(joined));
    context->saved_data["adds"] = shortcut.has_value();
    if (shortcut) remember_shortcut(context, *shortcut);
    context->set_materialize_grads(false);
    return {output, output.variable_data()};
  }

  static variable_list backward(AutogradContext* context, variable_list& gradients) {
    require_single_derivative("batch normalization");
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    variable_list results(7);  // as many as forward has arguments
    const auto capsule = context->saved_data["joined"].toCapsule();
    auto& joined = static_cast<JoinedGradient&>(*capsule);
    if (!gradients[0].defined() && !gradients[1].defined() && !joined.second.defined()) return results;
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &input = saved[0], &weight = saved[1];
    const cuda::KeptStatistics kept{.sums = saved[2], .covariances = saved[3], .channels = saved[4]};
    const std::int64_t sizes[] = {input.size(0), weight.size(0), input.size(2), input.size(3)};
    const NormalizedGradient gradient = whole_gradient(joined, gradients, input, sizes);
    const auto found = cuda::gradients_of(input, weight, kept, gradient, context->needs_input_grad(0));
    results[0] = found.input;
    results[1] = found.weight;
    results[2] = found.norm_weight;
    results[3] = found.norm_bias;
    const bool adds = context->saved_data["adds"].toBool();
    if (adds && context->needs_input_grad(4)) {
      tell_shortcut(context, gradient.values, gradient.sums);
      results[4] = gradient.values;
    }
    return results;
  }

 private:
  // The results were of `sizes`.
  static NormalizedGradient whole_gradient(JoinedGradient& joined, variable_list& given, const at::Tensor& input,
                                           at::IntArrayRef sizes) {
    const auto second = std::exchange(joined.second, {}), whole = std::exchange(joined.whole, {});
    const std::int64_t stride = std::exchange(joined.second_stride, 1);
    const bool is_few = stride > 1;
    if ((is_few && given[1].defined()) ||
        (whole.defined() && (!given[0].is_same(whole) || (!is_few && !given[1].is_same(second))))) {
      refuse_third_reader();
    }
    if (whole.defined()) return {whole, std::exchange(joined.whole_sums, {})};
    const NormalizedGradient known{std::exchange(joined.known, {}), std::exchange(joined.known_sums, {})};
    const bool is_known = known.values.defined() && given[0].is_same(known.values) && !given[1].defined();
    if (is_known && !second.defined() && !joined.positive.defined()) return known;
    if (is_few) given[1] = cuda::among_zeros(second, sizes, stride);
    variable_list gradients;
    for (at::Tensor& gradient : given) {
      if (gradient.defined()) gradients.push_back(cuda::take_gradient(gradient, input));
    }
    if (!joined.positive.defined()) {
      const at::Tensor sum = gradients.size() == 2 ? at::add(gradients[0], gradients[1]) : gradients[0];
      return {sum, cuda::sums_of(sum)};
    }
    return passed_gradient(gradients, joined.positive);
  }

  static NormalizedGradient passed_gradient(const variable_list& gradients, const at::Tensor& positive) {
    const NormalizedGradient result{at::empty_like(gradients[0]),
                                    at::empty({gradients[0].size(1)}, gradients[0].options().dtype(at::kFloat))};
    cuda::kernels_on(positive.device())
        ->bias_gradient({.shape = cuda::rows_of(gradients[0]),
                         .gradient = gradients[0].const_data_ptr(),
                         .second_gradient = gradients.size() == 2 ? gradients[1].const_data_ptr() : nullptr,
                         .passed = positive.const_data_ptr<std::uint8_t>(),
                         .masked = result.values.mutable_data_ptr(),
                         .bias_gradient = result.sums.mutable_data_ptr<float>()});
    return result;
  }
};

}  // namespace

c10::intrusive_ptr<JoinedGradient> joined_gradient_of(const at::Tensor& tensor, std::uint32_t result) {
  auto* const node = dynamic_cast<torch::autograd::CppNode<PointwiseNormAct>*>(tensor.grad_fn().get());
  if (node == nullptr || tensor.output_nr() != result) return {};
  return c10::static_intrusive_pointer_cast<JoinedGradient>(node->ctx_.saved_data["joined"].toCapsule());
}

bool can_pointwise_norm_act(const at::Tensor& input, const at::Tensor& weight, const BatchNormState& state,
                            const NormAct& options) {
  if (!options.by_batch || options.input_bias.defined() || at::tracer::impl::is_dispatch_enabled()) return false;
  if (!cuda::are_product(input, weight) || weight.size(1) > cuda::kMostNormInputs) return false;
  const std::int64_t inputs = weight.size(1), outputs = weight.size(0);
  if (outputs < 2 * inputs || input.numel() / inputs < kRowsForInput * inputs) return false;
  if (!wants_gradients(input, state, options) && !weight.requires_grad()) return false;
  const auto fits = [&](const at::Tensor& tensor) { return cuda::is_of_channels(tensor, input, outputs); };
  if (!fits(state.weight) || !fits(state.bias)) return false;
  if (state.running_mean.defined() && !(fits(state.running_mean) && fits(state.running_var))) return false;
  if (state.batches.defined() && state.batches.device() != input.device()) return false;
  const at::Tensor& shortcut = options.shortcut;
  return !shortcut.defined() ||
         (cuda::is_taken(shortcut) && shortcut.device() == input.device() && shortcut.scalar_type() == at::kBFloat16 &&
          shortcut.sizes() == at::IntArrayRef({input.size(0), outputs, input.size(2), input.size(3)}));
}

ForTwo pointwise_norm_act(const at::Tensor& input, const at::Tensor& weight, const BatchNormState& state,
                          const NormAct& options) {
  const c10::DeviceGuard guard(input.device());
  const variable_list outputs = PointwiseNormAct::apply(
      input, weight, state.weight, state.bias,
      options.shortcut.defined() ? std::optional(options.shortcut) : std::nullopt, state, options);
  return {outputs[0], outputs[1]};
}

}  // namespace lockstep::kernels
