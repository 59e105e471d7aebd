#include <lockstep/kernels/linear.h>

#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

#include "cpu/channels_last.h"
#include "cpu/matrices.h"
#include "cpu/plain_forward.h"
#include "cpu/single_derivative.h"
#include "recorded.h"

namespace lockstep::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Of one of the three products.
double flop_of(const at::Tensor& input, const at::Tensor& weight) {
  return 2.0 * static_cast<double>(input.size(0) * weight.numel());
}

class Linear : public torch::autograd::Function<Linear> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& any_input, const at::Tensor& any_weight,
                            const at::Tensor& bias) {
    const at::Tensor input = any_input.contiguous(), weight = any_weight.contiguous();
    // [output][sample], so that weights are rows, and samples stand side by side in vectors.
    const at::Tensor turned = at::empty({weight.size(0), input.size(0)}, input.options());
    const Recorded recorded("lockstep::linear",
                            {.flop = flop_of(input, weight), .bytes = bytes_of({input, weight, turned})});
    multiply(view(weight), packed_transposed(input), writable(turned), /*accumulate=*/false);
    context->save_for_backward({input, weight});
    return turned.t().contiguous().add_(bias);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    require_single_derivative("linear layer");
    const auto saved = context->get_saved_variables();
    const at::Tensor &input = saved[0], &weight = saved[1];
    const at::Tensor gradient = gradients[0].contiguous();
    variable_list results(3);
    if (context->needs_input_grad(0)) {
      const Recorded recorded("lockstep::linear_input_gradient",
                              {.flop = flop_of(input, weight), .bytes = bytes_of({input, weight, gradient})});
      results[0] = at::empty(input.sizes(), input.options());
      multiply_transposed(view(gradient.t().contiguous()), view(weight), writable(results[0]));
    }
    if (context->needs_input_grad(1)) {
      const Recorded recorded("lockstep::linear_weight_gradient",
                              {.flop = flop_of(input, weight), .bytes = bytes_of({input, weight, gradient})});
      results[1] = at::empty(weight.sizes(), input.options());
      multiply_transposed(view(gradient), view(input), writable(results[1]));
    }
    if (context->needs_input_grad(2)) results[2] = gradient.sum(0);
    return results;
  }
};

}  // namespace

bool can_linear(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias) {
  constexpr std::int64_t kWeights = 1 << 20, kSamples = 64;
  for (const at::Tensor& tensor : {input, weight, bias}) {
    if (!tensor.defined() || !is_cpu_float(tensor)) return false;
  }
  return products() != nullptr && input.dim() == 2 && input.size(0) > 0 && input.size(0) <= kSamples &&
         weight.dim() == 2 && weight.size(1) == input.size(1) && weight.numel() >= kWeights && is_plain_forward();
}

at::Tensor linear(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias) {
  return Linear::apply(input, weight, bias);
}

}  // namespace lockstep::kernels
