#include <lockstep/kernels/convolution.h>

#include <algorithm>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/threshold_backward.h>
#include <torch/csrc/autograd/custom_function.h>

#include "bias.h"
#include "cpu/channels_last.h"
#include "cpu/plain_forward.h"
#include "cpu/product_convolution.h"
#include "cpu/single_derivative.h"
#include "cpu/winograd_conv.h"
#include "cuda/convolution.h"
#include "cuda/joined_gradient.h"

namespace lockstep::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor dense(const at::Tensor& tensor) {
  return tensor.contiguous(at::MemoryFormat::ChannelsLast);
}

ConvShape shape_of(const at::Tensor& input, const at::Tensor& weight, at::IntArrayRef padding) {
  return {.batch = input.size(0),
          .inputs = input.size(1),
          .outputs = weight.size(0),
          .height = input.size(2),
          .width = input.size(3),
          .side = weight.size(2),
          .pad_height = padding[0],
          .pad_width = padding[1]};
}

class Convolution : public torch::autograd::Function<Convolution> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& any_input, const at::Tensor& any_weight,
                            const std::optional<at::Tensor>& bias, const ConvolutionOptions& options) {
    const at::Tensor input = dense(any_input), weight = dense(any_weight);
    const ConvShape shape = shape_of(input, weight, options.padding);
    at::Tensor output = at::empty({shape.batch, shape.outputs, shape.out_height(), shape.out_width()}, input.options(),
                                  at::MemoryFormat::ChannelsLast);
    const at::Tensor dense_bias = bias ? bias->contiguous() : at::Tensor();
    winograd_forward(shape, input.const_data_ptr<float>(), weight.const_data_ptr<float>(),
                     bias ? dense_bias.const_data_ptr<float>() : nullptr, options.relu,
                     output.mutable_data_ptr<float>());
    context->save_for_backward({input, weight, options.relu ? output : at::Tensor()});
    context->saved_data["padding"] = options.padding;
    context->saved_data["has_bias"] = bias.has_value();
    return output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    require_single_derivative("convolution");
    const auto saved = context->get_saved_variables();
    const at::Tensor &input = saved[0], &weight = saved[1], &output = saved[2];
    const at::Tensor gradient =
        dense(output.defined() ? at::threshold_backward(gradients[0], output, 0) : gradients[0]);
    const ConvShape shape = shape_of(input, weight, context->saved_data["padding"].toIntVector());
    at::Tensor of_input, of_weight, of_bias;
    if (context->needs_input_grad(0)) {
      of_input = at::empty_like(input);
      winograd_input_gradient(shape, gradient.const_data_ptr<float>(), weight.const_data_ptr<float>(),
                              of_input.mutable_data_ptr<float>());
    }
    if (context->needs_input_grad(1)) {
      of_weight = at::empty_like(weight);
      winograd_weight_gradient(shape, input.const_data_ptr<float>(), gradient.const_data_ptr<float>(),
                               of_weight.mutable_data_ptr<float>());
    }
    if (context->saved_data["has_bias"].toBool() && context->needs_input_grad(2)) {
      of_bias = at::sum(gradient, {0, 2, 3});
    }
    return {of_input, of_weight, of_bias, at::Tensor()};
  }
};

bool joins(const at::Tensor& input, const at::Tensor& weight, const ConvolutionOptions& options) {
  return options.move_nothing() && can_joined_pointwise(input, weight);
}

at::Tensor with_bias_and_relu(at::Tensor output, const at::Tensor& bias, bool relu) {
  if (bias.defined()) output = output + bias_for(output, bias).to(output.scalar_type());
  return relu ? at::relu(output) : output;
}

}  // namespace

bool ConvolutionOptions::move_nothing() const {
  const auto are = [](const std::vector<std::int64_t>& values, std::int64_t wanted) {
    return std::all_of(values.begin(), values.end(), [&](std::int64_t value) { return value == wanted; });
  };
  return are(stride, 1) && are(padding, 0) && groups == 1;
}

bool can_convolve(const at::Tensor& input, const at::Tensor& weight, const ConvolutionOptions& options) {
  if (input.is_cuda()) {
    return joins(input, weight, options) || can_window_convolve(input, weight, options) ||
           can_cuda_convolve(input, weight, options);
  }
  if (can_product_convolve(input, weight, options)) return true;
  const auto fits = [](const at::Tensor& tensor) {
    return is_cpu_float(tensor) && tensor.dim() == 4 && tensor.numel() > 0;
  };
  const auto are_ones = [](const std::vector<std::int64_t>& values) {
    return values == std::vector<std::int64_t>{1, 1};
  };
  return fits(input) && fits(weight) && are_ones(options.stride) && are_ones(options.dilation) && options.groups == 1 &&
         input.size(1) == weight.size(1) && weight.size(2) == weight.size(3) && is_plain_forward() &&
         suits_winograd(shape_of(input, weight, options.padding));
}

at::Tensor convolve(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                    const ConvolutionOptions& options) {
  if (input.is_cuda()) {
    const bool joined = joins(input, weight, options);
    if (!joined && !can_window_convolve(input, weight, options)) return cuda_convolve(input, weight, bias, options);
    return with_bias_and_relu(joined ? joined_pointwise(input, weight) : window_convolve(input, weight), bias,
                              options.relu);
  }
  if (can_product_convolve(input, weight, options)) return product_convolve(input, weight, bias, options);
  return Convolution::apply(input, weight, bias.defined() ? std::optional(bias) : std::nullopt, options);
}

}  // namespace lockstep::kernels
