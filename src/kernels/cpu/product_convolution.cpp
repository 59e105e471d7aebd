#include "product_convolution.h"

#include <ATen/TracerMode.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/threshold_backward.h>
#include <torch/csrc/autograd/custom_function.h>

#include <lockstep/base/cpu.h>

#include "../bias.h"
#include "single_derivative.h"

namespace lockstep::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor in_bfloat16(const at::Tensor& tensor) {
  return tensor.to(at::kBFloat16).contiguous(at::MemoryFormat::ChannelsLast);
}

// Matrices of the memory of tensors that have channels last: [pixel][channel], and [output][row, column, channel].
at::Tensor pixels_of(const at::Tensor& tensor) {
  return tensor.permute({0, 2, 3, 1}).view({-1, tensor.size(1)});
}
at::Tensor weights_of(const at::Tensor& tensor) {
  return tensor.permute({0, 2, 3, 1}).view({tensor.size(0), -1});
}

struct Window {
  std::vector<std::int64_t> stride, padding;

  bool is_pixel(const at::Tensor& weight) const {
    return weight.size(2) == 1 && weight.size(3) == 1 && stride == std::vector<std::int64_t>{1, 1} &&
           padding == std::vector<std::int64_t>{0, 0};
  }
};

// What each pixel of the output sees of the input: [pixel][row, column, channel].
at::Tensor seen_by_pixels(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& output,
                          const Window& window) {
  if (window.is_pixel(weight)) return pixels_of(input);
  const std::vector<std::int64_t>& padding = window.padding;
  const at::Tensor padded = at::constant_pad_nd(input.permute({0, 2, 3, 1}).contiguous(),
                                                {0, 0, padding[1], padding[1], padding[0], padding[0]});
  const auto steps = padded.strides();
  const std::int64_t in_row = weight.size(3) * weight.size(1);
  return padded
      .as_strided({output.size(0), output.size(2), output.size(3), weight.size(2), in_row},
                  {steps[0], steps[1] * window.stride[0], steps[2] * window.stride[1], steps[1], 1})
      .reshape({-1, weight.size(2) * in_row});
}

class ProductConvolution : public torch::autograd::Function<ProductConvolution> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& any_input, const at::Tensor& any_weight,
                            const std::optional<at::Tensor>& bias, const ConvolutionOptions& options) {
    const at::Tensor input = in_bfloat16(any_input), weight = in_bfloat16(any_weight);
    const Window window{options.stride, options.padding};
    at::Tensor output;
    if (window.is_pixel(weight)) {
      output = at::empty({input.size(0), weight.size(0), input.size(2), input.size(3)}, input.options(),
                         at::MemoryFormat::ChannelsLast);
      at::Tensor pixels = pixels_of(output);
      at::mm_out(pixels, pixels_of(input), weights_of(weight).t());
    } else {
      output = at::convolution(input, weight, std::nullopt, options.stride, options.padding, options.dilation,
                               /*transposed=*/false, {0, 0}, 1);
    }
    if (bias) output.add_(bias_for(output, *bias));
    if (options.relu) at::relu_(output);
    context->save_for_backward({input, weight, options.relu ? output : at::Tensor()});
    context->saved_data["stride"] = options.stride;
    context->saved_data["padding"] = options.padding;
    context->saved_data["has_bias"] = bias.has_value();
    return output;
  }

  // Autograd converts each gradient to the type of what it belongs to.
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    require_single_derivative("convolution");
    const auto saved = context->get_saved_variables();
    const at::Tensor &input = saved[0], &weight = saved[1], &output = saved[2];
    const at::Tensor gradient = in_bfloat16(output.defined() ? at::threshold_backward(gradients[0], output, 0)  //
                                                             : gradients[0]);
    const at::Tensor pixels = pixels_of(gradient);
    const Window window{context->saved_data["stride"].toIntVector(), context->saved_data["padding"].toIntVector()};
    variable_list results(4);
    if (context->needs_input_grad(0)) {
      if (window.is_pixel(weight)) {
        results[0] = at::empty_like(input);
        at::Tensor of_pixels = pixels_of(results[0]);
        at::mm_out(of_pixels, pixels, weights_of(weight));
      } else {
        results[0] = std::get<0>(at::convolution_backward(gradient, input, weight, at::OptionalIntArrayRef(),
                                                          window.stride, window.padding, {1, 1}, /*transposed=*/false,
                                                          {0, 0}, 1, {true, false, false}));
      }
    }
    if (context->needs_input_grad(1)) {
      results[1] = at::empty_like(weight);
      at::Tensor of_weights = weights_of(results[1]);
      at::mm_out(of_weights, pixels.t(), seen_by_pixels(input, weight, gradient, window));
    }
    if (context->saved_data["has_bias"].toBool() && context->needs_input_grad(2)) {
      results[2] = pixels.sum(0, /*keepdim=*/false, at::kFloat);
    }
    return results;
  }
};

bool is_bfloat16_autocast() {
  return at::autocast::is_autocast_enabled(at::kCPU) && at::autocast::get_autocast_dtype(at::kCPU) == at::kBFloat16 &&
         !at::tracer::impl::is_dispatch_enabled();
}

}  // namespace

bool can_product_convolve(const at::Tensor& input, const at::Tensor& weight, const ConvolutionOptions& options) {
  // oneDNN has no products of bfloat16 below that.
  if (cpu::kernel_level() != cpu::KernelLevel::kAvx512 || !is_bfloat16_autocast()) return false;
  const auto fits = [](const at::Tensor& tensor) {
    const at::ScalarType type = tensor.scalar_type();
    return tensor.device().is_cpu() && (type == at::kFloat || type == at::kBFloat16) && tensor.dim() == 4 &&
           tensor.numel() > 0 && tensor.layout() == at::kStrided;
  };
  if (!fits(input) || !fits(weight) || !at::GradMode::is_enabled() || !weight.requires_grad()) return false;
  if (options.groups != 1 || options.dilation != std::vector<std::int64_t>{1, 1}) return false;
  if (input.size(1) != weight.size(1) || !input.is_contiguous(at::MemoryFormat::ChannelsLast)) return false;
  std::int64_t pixels = input.size(0);
  for (std::int64_t i : {0, 1}) {
    const auto side = static_cast<std::size_t>(i);
    const std::int64_t room = input.size(2 + i) + 2 * options.padding[side] - weight.size(2 + i);
    if (room < 0) return false;
    pixels *= room / options.stride[side] + 1;
  }
  // Windows have to be copied, and so it takes more weights for them to be worth it.
  const bool is_pixel = Window{options.stride, options.padding}.is_pixel(weight);
  return weight.numel() >= (is_pixel ? 128 : 1024) * pixels;
}

at::Tensor product_convolve(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                            const ConvolutionOptions& options) {
  return ProductConvolution::apply(input, weight, bias.defined() ? std::optional(bias) : std::nullopt, options);
}

}  // namespace lockstep::kernels
