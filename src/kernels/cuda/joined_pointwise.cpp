#include <ATen/TracerMode.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/DeviceGuard.h>
#include <torch/csrc/autograd/custom_function.h>

#include "../cpu/single_derivative.h"
#include "every_nth.h"
#include "joined_gradient.h"
#include "products.h"
#include "tensors.h"

namespace lockstep::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Those that are asked for, by libtorch.
std::pair<at::Tensor, at::Tensor> plain_gradients(const at::Tensor& gradient, const at::Tensor& input,
                                                  const at::Tensor& weight, bool of_input, bool of_weight) {
  if (!of_input && !of_weight) return {};
  auto [for_input, for_weight, none] =
      at::convolution_backward(gradient, input, weight, std::nullopt, {1, 1}, {0, 0}, {1, 1}, /*transposed=*/false,
                               {0, 0}, /*groups=*/1, {of_input, of_weight, false});
  return {for_input, for_weight};
}

class JoinedPointwise : public torch::autograd::Function<JoinedPointwise> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, const at::Tensor& weight) {
    context->save_for_backward({input, weight});
    context->saved_data["joined"] = c10::IValue::make_capsule(joined_gradient_of(input, 0));
    return at::convolution(input, weight, std::nullopt, {1, 1}, {0, 0}, {1, 1}, /*transposed=*/false, {0, 0},
                           /*groups=*/1);
  }

  static variable_list backward(AutogradContext* context, variable_list& gradients) {
    require_single_derivative("convolution");
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &input = saved[0], &weight = saved[1];
    const at::Tensor gradient = cuda::take_gradient(gradients[0], input);
    const auto capsule = context->saved_data["joined"].toCapsule();
    auto& joined = static_cast<JoinedGradient&>(*capsule);
    const bool joins = joined.second.defined() && joined.positive.defined() && context->needs_input_grad(0);
    auto [of_input, of_weight] =
        plain_gradients(gradient, input, weight, context->needs_input_grad(0) && !joins, context->needs_input_grad(1));
    if (joins) of_input = join(joined, gradient, input, weight);
    return {of_input, of_weight};
  }

 private:
  static at::Tensor join(JoinedGradient& joined, const at::Tensor& gradient, const at::Tensor& input,
                         const at::Tensor& weight) {
    const std::int64_t rows = cuda::rows_of(input).rows, outputs = input.size(1);
    joined.whole = at::empty_like(input);
    joined.whole_sums =
        at::empty({outputs, cuda::product_tiles(rows)}, at::TensorOptions(at::kFloat).device(input.device()));
    cuda::RowsProduct work{.rows = rows,
                           .outputs = static_cast<int>(outputs),
                           .then = cuda::RowsProduct::Then::kPass,
                           .add = joined.second.const_data_ptr(),
                           .places = cuda::places_of(input.sizes(), joined.second_stride),
                           .passed = joined.positive.const_data_ptr<std::uint8_t>(),
                           .y = joined.whole.mutable_data_ptr(),
                           .sums = joined.whole_sums.mutable_data_ptr<float>()};
    work.terms[0] = cuda::term_of(gradient, weight);
    cuda::kernels_on(input.device())->rows_product(work);
    return joined.whole;
  }
};

}  // namespace

bool can_joined_pointwise(const at::Tensor& input, const at::Tensor& weight) {
  return cuda::are_product(input, weight) && input.requires_grad() && !at::tracer::impl::is_dispatch_enabled() &&
         joined_gradient_of(input, 0) != nullptr;
}

at::Tensor joined_pointwise(const at::Tensor& input, const at::Tensor& weight) {
  const c10::DeviceGuard guard(input.device());
  return JoinedPointwise::apply(input, weight);
}

}  // namespace lockstep::kernels
