#include <lockstep/kernels/convolution.h>

#include <ATen/autocast_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/threshold_backward.h>
#include <torch/csrc/autograd/custom_function.h>

#include "cpu/conv.h"

namespace lockstep::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::MemoryFormat format_of(const at::Tensor& tensor) {
  return tensor.dim() == 5 ? at::MemoryFormat::ChannelsLast3d : at::MemoryFormat::ChannelsLast;
}

at::Tensor dense(const at::Tensor& tensor) {
  return tensor.contiguous(format_of(tensor));
}

cpu::ConvShape shape_of(const at::Tensor& input, const at::Tensor& weight, const ConvolutionOptions& options) {
  cpu::ConvShape shape{.batch = input.size(0), .inputs = input.size(1), .outputs = weight.size(0)};
  const auto dimensions = static_cast<std::size_t>(input.dim() - 2);
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::size_t at = 3 - dimensions + i;
    const auto dimension = static_cast<std::int64_t>(i + 2);
    shape.in[at] = input.size(dimension);
    shape.kernel[at] = weight.size(dimension);
    shape.stride[at] = options.stride[i];
    shape.padding[at] = options.padding[i];
    shape.dilation[at] = options.dilation[i];
  }
  return shape;
}

at::Tensor empty_output(const at::Tensor& input, const cpu::ConvShape& shape) {
  std::vector<std::int64_t> sizes = {shape.batch, shape.outputs};
  const cpu::Extents out = shape.out();
  for (std::size_t i = 5 - static_cast<std::size_t>(input.dim()); i < 3; ++i) sizes.push_back(out[i]);
  return at::empty(sizes, input.options(), format_of(input));
}

class Convolution : public torch::autograd::Function<Convolution> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& any_input, const at::Tensor& any_weight,
                            const std::optional<at::Tensor>& bias, const ConvolutionOptions& options) {
    const at::Tensor input = dense(any_input), weight = dense(any_weight);
    const cpu::ConvShape shape = shape_of(input, weight, options);
    at::Tensor output = empty_output(input, shape);
    const at::Tensor dense_bias = bias ? bias->contiguous() : at::Tensor();
    cpu::conv_forward(*cpu::products(), shape, input.const_data_ptr<float>(), weight.const_data_ptr<float>(),
                      output.mutable_data_ptr<float>(),
                      {.bias = bias ? dense_bias.const_data_ptr<float>() : nullptr, .relu = options.relu});
    context->save_for_backward({input, weight, options.relu ? output : at::Tensor()});
    context->saved_data["has_bias"] = bias.has_value();
    context->saved_data["stride"] = options.stride;
    context->saved_data["padding"] = options.padding;
    context->saved_data["dilation"] = options.dilation;
    return output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &input = saved[0], &weight = saved[1], &output = saved[2];
    at::Tensor gradient = dense(gradients[0]);
    if (output.defined()) gradient = dense(at::threshold_backward(gradient, output, 0));
    const ConvolutionOptions options{.stride = context->saved_data["stride"].toIntVector(),
                                     .padding = context->saved_data["padding"].toIntVector(),
                                     .dilation = context->saved_data["dilation"].toIntVector()};
    const cpu::ConvShape shape = shape_of(input, weight, options);
    at::Tensor of_input, of_weight, of_bias;
    if (context->needs_input_grad(0)) {
      of_input = at::empty_like(input);
      cpu::conv_input_gradient(*cpu::products(), shape, gradient.const_data_ptr<float>(),
                               weight.const_data_ptr<float>(), of_input.mutable_data_ptr<float>());
    }
    if (context->needs_input_grad(1)) {
      of_weight = at::empty_like(weight);
      cpu::conv_weight_gradient(*cpu::products(), shape, input.const_data_ptr<float>(),
                                gradient.const_data_ptr<float>(), of_weight.mutable_data_ptr<float>());
    }
    if (context->saved_data["has_bias"].toBool() && context->needs_input_grad(2)) {
      std::vector<std::int64_t> all_but_channels = {0};
      for (std::int64_t i = 2; i < gradient.dim(); ++i) all_but_channels.push_back(i);
      of_bias = at::sum(gradient, all_but_channels);
    }
    return {of_input, of_weight, of_bias, at::Tensor()};
  }
};

}  // namespace

bool can_convolve(const at::Tensor& input, const at::Tensor& weight, const ConvolutionOptions& options) {
  const auto fits = [&](const at::Tensor& tensor) {
    return tensor.is_cpu() && tensor.scalar_type() == at::kFloat && tensor.dim() == input.dim() && tensor.numel() > 0;
  };
  return cpu::products() != nullptr && (input.dim() == 4 || input.dim() == 5) && fits(input) && fits(weight) &&
         options.groups == 1 && input.size(1) == weight.size(1) && !at::autocast::is_autocast_enabled(at::kCPU);
}

at::Tensor convolve(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                    const ConvolutionOptions& options) {
  return Convolution::apply(input, weight, bias.defined() ? std::optional(bias) : std::nullopt, options);
}

}  // namespace lockstep::kernels
