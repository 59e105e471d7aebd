// The first convolution of a net has the three colours of a picture for channels, and tensor cores want eight or more.
// So its window's places become channels (BlockShape says how), and cuDNN convolves blocks, or a kernel of our own does
// where the blocks are rows of the window.
#include <limits>

#include <ATen/TracerMode.h>
#include <ATen/autocast_mode.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/relu.h>
#include <c10/core/DeviceGuard.h>
#include <torch/csrc/autograd/custom_function.h>

#include "../cpu/divide_up.h"
#include "../cpu/single_derivative.h"
#include "../kept.h"
#include "convolution.h"
#include "known_of.h"
#include "tensors.h"

namespace lockstep::kernels {
namespace {

using cuda::BlockShape;
using cuda::Strides;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int kMostInputs = 4;

// What the convolution computes in, by autocast or by its input.
at::ScalarType type_for(const at::Tensor& input) {
  return at::autocast::is_autocast_enabled(at::kCUDA) ? at::autocast::get_autocast_dtype(at::kCUDA)
                                                      : input.scalar_type();
}

// Whether column_convolution() takes them.
bool is_column(const BlockShape& shape, at::Device device) {
  const auto all_ones = [](const int(&values)[2]) { return values[0] == 1 && values[1] == 1; };
  return shape.type == cuda::Number::kBFloat16 && all_ones(shape.stride) && shape.windows[1] == 1 &&
         shape.windows[0] <= cuda::kMostColumnRows && shape.channels <= cuda::kColumnChannels &&
         shape.outputs == cuda::kWindowChannels && shape.out[0] % cuda::kWindowTileRows == 0 &&
         shape.out[1] % cuda::kColumnTileColumns == 0 && cuda::kernels_on(device)->have_products();
}

BlockShape shape_of(const at::Tensor& input, const at::Tensor& weight, const ConvolutionOptions& options,
                    at::ScalarType type) {
  BlockShape shape{.type = type == at::kHalf ? cuda::Number::kHalf : cuda::Number::kBFloat16,
                   .samples = static_cast<int>(input.size(0)),
                   .outputs = static_cast<int>(weight.size(0)),
                   .inputs = static_cast<int>(input.size(1))};
  for (int i = 0; i < 2; ++i) {
    const auto dimension = static_cast<std::size_t>(i);
    shape.in[i] = static_cast<int>(input.size(i + 2));
    shape.window[i] = static_cast<int>(weight.size(i + 2));
    shape.stride[i] = static_cast<int>(options.stride[dimension]);
    shape.padding[i] = static_cast<int>(options.padding[dimension]);
    shape.out[i] = (shape.in[i] + 2 * shape.padding[i] - shape.window[i]) / shape.stride[i] + 1;
    shape.block[i] = i == 1 && shape.stride[i] == 1 ? shape.window[i] : shape.stride[i];
    shape.windows[i] = static_cast<int>(divide_up(shape.window[i], shape.block[i]));
    shape.blocks[i] = shape.out[i] + shape.windows[i] - 1;
  }
  const int width = cuda::vector_width(shape.type);
  shape.channels = static_cast<int>(divide_up(shape.block[0] * shape.block[1] * shape.inputs, width)) * width;
  if (is_column(shape, input.device())) shape.channels = cuda::kColumnChannels;
  return shape;
}

Strides strides_of(const at::Tensor& tensor) {
  Strides strides;
  for (int i = 0; i < 4; ++i) strides.of[i] = tensor.stride(i);
  return strides;
}

at::Tensor empty_blocks(std::array<std::int64_t, 4> sizes, const at::Tensor& like, at::ScalarType type) {
  return at::empty(sizes, at::TensorOptions(type).device(like.device()).memory_format(at::MemoryFormat::ChannelsLast));
}

class BlockWeights : public torch::autograd::Function<BlockWeights> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& weight, const BlockShape& shape,
                            at::ScalarType type) {
    at::Tensor blocks = empty_blocks({shape.outputs, shape.channels, shape.windows[0], shape.windows[1]}, weight, type);
    cuda::kernels_on(weight.device())
        ->gather_weights(shape, blocks.mutable_data_ptr(), weight.const_data_ptr(), cuda::number_of(weight),
                         strides_of(weight));
    context->save_for_backward({weight});
    context->saved_data["shape"] = keep(shape);
    return blocks;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    require_single_derivative("convolution");
    const at::Tensor weight = context->get_saved_variables()[0];
    const at::Tensor blocks = gradients[0].contiguous(at::MemoryFormat::ChannelsLast);
    at::Tensor gradient = at::empty_like(weight);
    cuda::kernels_on(weight.device())
        ->weights_gradient(kept<BlockShape>(context->saved_data["shape"]), gradient.mutable_data_ptr(),
                           cuda::number_of(gradient), strides_of(gradient), blocks.const_data_ptr());
    return {gradient, {}, {}};
  }
};

at::Tensor convolve_blocks(const at::Tensor& blocks, const at::Tensor& weight, const std::optional<at::Tensor>& bias) {
  return at::convolution(blocks, weight, bias, {1, 1}, {0, 0}, {1, 1}, /*transposed=*/false, {0, 0}, /*groups=*/1);
}

class ColumnConvolution : public torch::autograd::Function<ColumnConvolution> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& blocks, const at::Tensor& weight,
                            const BlockShape& shape) {
    context->save_for_backward({blocks, weight});
    context->saved_data["shape"] = keep(shape);
    const cuda::Kernels& kernels = *cuda::kernels_on(blocks.device());
    at::Tensor output = empty_blocks({shape.samples, shape.outputs, shape.out[0], shape.out[1]}, blocks, at::kBFloat16);
    cuda::ColumnConvolution work{.samples = shape.samples,
                                 .height = shape.out[0],
                                 .width = shape.out[1],
                                 .rows = shape.windows[0],
                                 .x = blocks.const_data_ptr(),
                                 .weight = weight.const_data_ptr(),
                                 .y = output.mutable_data_ptr()};
    const at::Tensor known = empty_known(kernels.column_parts(work), shape.outputs, blocks);
    work.known = known_in(known);
    kernels.column_convolution(work);
    context->saved_data[kKnown] = known;
    return output;
  }

  static variable_list backward(AutogradContext* context, variable_list& gradients) {
    require_single_derivative("convolution");
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &blocks = saved[0], &weight = saved[1];
    const c10::DeviceGuard guard(blocks.device());
    variable_list results(3);
    if (!context->needs_input_grad(1)) return results;
    const auto& shape = kept<BlockShape>(context->saved_data["shape"]);
    const at::Tensor gradient = gradients[0].contiguous(at::MemoryFormat::ChannelsLast);
    results[1] = at::empty_like(weight);
    cuda::kernels_on(blocks.device())
        ->column_gradient({.samples = shape.samples,
                           .height = shape.out[0],
                           .width = shape.out[1],
                           .rows = shape.windows[0],
                           .x = blocks.const_data_ptr(),
                           .gradient = gradient.const_data_ptr(),
                           .weight_gradient = results[1].mutable_data_ptr()});
    return results;
  }
};

bool fits(const BlockShape& shape) {
  constexpr std::int64_t kMostValues = std::numeric_limits<int>::max();
  constexpr int kMostInGrid = 65535, kMostSide = 1 << 13;
  const std::int64_t values =
      static_cast<std::int64_t>(shape.outputs) * shape.windows[0] * shape.windows[1] * shape.channels;
  return shape.out[0] > 0 && shape.out[1] > 0 && shape.channels <= cuda::kMostBlockChannels && values <= kMostValues &&
         shape.in[0] <= kMostSide && shape.in[1] <= kMostSide && shape.samples <= kMostInGrid;
}

}  // namespace

bool can_cuda_convolve(const at::Tensor& input, const at::Tensor& weight, const ConvolutionOptions& options) {
  if (input.dim() != 4 || weight.dim() != 4 || !input.is_cuda() || weight.device() != input.device()) return false;
  if (input.size(1) > kMostInputs || weight.size(1) != input.size(1) || options.groups != 1) return false;
  if (input.numel() == 0 || !cuda::has_taken_type(input) || !cuda::has_taken_type(weight)) return false;
  if (input.requires_grad() || at::tracer::impl::is_dispatch_enabled()) return false;
  if (options.dilation != std::vector<std::int64_t>{1, 1} || weight.size(2) * weight.size(3) == 1) return false;
  const at::ScalarType type = type_for(input);
  if ((type != at::kBFloat16 && type != at::kHalf) || cuda::kernels_on(input.device()) == nullptr) return false;
  return fits(shape_of(input, weight, options, type));
}

at::Tensor cuda_convolve(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                         const ConvolutionOptions& options) {
  const c10::DeviceGuard guard(input.device());
  const at::ScalarType type = type_for(input);
  const BlockShape shape = shape_of(input, weight, options, type);
  const at::Tensor blocks =
      empty_blocks({shape.samples, shape.channels, shape.blocks[0], shape.blocks[1]}, input, type);
  cuda::kernels_on(input.device())
      ->gather_blocks(shape, blocks.mutable_data_ptr(), input.const_data_ptr(), cuda::number_of(input),
                      strides_of(input));
  const at::Tensor block_weight = BlockWeights::apply(weight, shape, type);
  const bool by_columns = is_column(shape, input.device()) && !bias.defined();
  const at::Tensor output =
      by_columns ? ColumnConvolution::apply(blocks, block_weight, shape)
                 : convolve_blocks(blocks, block_weight, bias.defined() ? std::optional(bias.to(type)) : std::nullopt);
  return options.relu ? at::relu(output) : output;
}

at::Tensor known_of_cuda_convolve(const at::Tensor& result) {
  return known_of<ColumnConvolution>(result);
}

}  // namespace lockstep::kernels
