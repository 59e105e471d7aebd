#include "bias_act.h"

#include <ATen/TracerMode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/DeviceGuard.h>
#include <torch/csrc/autograd/custom_function.h>

#include "../cpu/channels_last.h"
#include "../cpu/single_derivative.h"
#include "tensors.h"

namespace lockstep::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class CudaBiasAct : public torch::autograd::Function<CudaBiasAct> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, const at::Tensor& bias, bool relu) {
    cuda::kernels_on(input.device())
        ->bias_act({.shape = cuda::rows_of(input),
                    .bias = bias.const_data_ptr<float>(),
                    .relu = relu,
                    .y = input.mutable_data_ptr()});
    context->mark_dirty({input});
    context->saved_data["relu"] = relu;
    if (relu) context->save_for_backward({input});
    return input;
  }

  static variable_list backward(AutogradContext* context, variable_list& gradients) {
    require_single_derivative("bias");
    const bool relu = context->saved_data["relu"].toBool();
    const bool of_input = context->needs_input_grad(0), of_bias = context->needs_input_grad(1);
    const at::Tensor output = relu ? context->get_saved_variables()[0] : gradients[0];
    const at::Tensor gradient = cuda::take_gradient(gradients[0], output);
    variable_list results(3);  // as many as forward has arguments
    if (of_bias) results[1] = at::empty({gradient.size(1)}, gradient.options().dtype(at::kFloat));
    // Memory that nobody else sees is written over.
    if (of_input) results[0] = !relu || is_ours(gradient) ? gradient : at::empty_like(gradient);
    if (!relu && !of_bias) return results;
    cuda::kernels_on(gradient.device())
        ->bias_gradient({.shape = cuda::rows_of(gradient),
                         .gradient = gradient.const_data_ptr(),
                         .y = relu ? output.const_data_ptr() : nullptr,
                         .masked = relu && of_input ? results[0].mutable_data_ptr() : nullptr,
                         .bias_gradient = of_bias ? results[1].mutable_data_ptr<float>() : nullptr});
    return results;
  }
};

}  // namespace

bool can_cuda_bias(const at::Tensor& bias) {
  constexpr std::int64_t kMultiple = cuda::vector_width(cuda::Number::kHalf);  // the widest
  return bias.defined() && bias.scalar_type() == at::kFloat && bias.dim() == 1 && bias.is_contiguous() &&
         bias.numel() % kMultiple == 0 && cuda::kernels_on(bias.device()) != nullptr &&
         !at::tracer::impl::is_dispatch_enabled();
}

bool can_cuda_bias_act(const at::Tensor& input, const at::Tensor& bias) {
  return can_cuda_bias(bias) && cuda::is_taken(input) && cuda::is_of_channels(bias, input);
}

at::Tensor cuda_bias_act(at::Tensor input, const at::Tensor& bias, bool relu) {
  const c10::DeviceGuard guard(input.device());
  return CudaBiasAct::apply(input, bias, relu);
}

}  // namespace lockstep::kernels
