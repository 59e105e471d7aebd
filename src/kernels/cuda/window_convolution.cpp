// Convolutions with 3 x 3 weights, of which cuDNN does some far from the peak of an H200's tensor cores: all three
// products of those with 64 channels and of small pictures, and the weights' gradients of those with 128.
#include <ATen/TracerMode.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/DeviceGuard.h>
#include <torch/csrc/autograd/custom_function.h>

#include "../cpu/divide_up.h"
#include "../cpu/single_derivative.h"
#include "convolution.h"
#include "known_of.h"
#include "passed_gradient.h"
#include "tensors.h"

namespace lockstep::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

int size_of(const at::Tensor& tensor, std::int64_t dimension) {
  return static_cast<int>(tensor.size(dimension));
}

cuda::WindowConvolution work_for(const at::Tensor& x, const at::Tensor& weight) {
  return {.samples = size_of(x, 0),
          .height = size_of(x, 2),
          .width = size_of(x, 3),
          .channels = size_of(x, 1),
          .x = x.const_data_ptr(),
          .weight = weight.const_data_ptr()};
}

constexpr std::int64_t kWide = 2 * cuda::kWindowChannels;

bool are_stacked(const at::Tensor& input) {
  return cuda::are_stacked(size_of(input, 2), size_of(input, 3), size_of(input, 1));
}

// With 64 channels, or pictures that are stacked; else all but the weights' gradient is libtorch's.
class WindowConvolution : public torch::autograd::Function<WindowConvolution> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, const at::Tensor& weight) {
    context->save_for_backward({input, weight});
    if (!is_ours(input)) {
      return at::convolution(input, weight, std::nullopt, {1, 1}, {1, 1}, {1, 1}, /*transposed=*/false, {0, 0},
                             /*groups=*/1);
    }
    const cuda::Kernels& kernels = *cuda::kernels_on(input.device());
    cuda::WindowConvolution work = work_for(input, weight);
    at::Tensor output = at::empty_like(input);
    const at::Tensor known = empty_known(kernels.window_parts(work), input.size(1), input);
    work.y = output.mutable_data_ptr();
    work.known = known_in(known);
    kernels.window_convolution(work);
    context->saved_data[kKnown] = known;
    return output;
  }

  static variable_list backward(AutogradContext* context, variable_list& gradients) {
    require_single_derivative("convolution");
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &input = saved[0], &weight = saved[1];
    const c10::DeviceGuard guard(input.device());
    const at::Tensor gradient = cuda::take_gradient(gradients[0], input);
    variable_list results(2);
    if (context->needs_input_grad(0)) results[0] = input_gradient(gradient, input, weight);
    if (context->needs_input_grad(1)) results[1] = weight_gradient(gradient, input, weight);
    return results;
  }

 private:
  static bool is_ours(const at::Tensor& input) { return input.size(1) == cuda::kWindowChannels || are_stacked(input); }

  static at::Tensor input_gradient(const at::Tensor& gradient, const at::Tensor& input, const at::Tensor& weight) {
    if (!is_ours(input)) {
      return std::get<0>(at::convolution_backward(gradient, input, weight, std::nullopt, {1, 1}, {1, 1}, {1, 1},
                                                  /*transposed=*/false, {0, 0}, /*groups=*/1, {true, false, false}));
    }
    const cuda::Kernels& kernels = *cuda::kernels_on(input.device());
    at::Tensor result = at::empty_like(input);
    cuda::WindowConvolution work = work_for(gradient, weight);
    work.is_gradient = true;
    work.y = result.mutable_data_ptr();
    const auto normalized = normalized_input(input);
    if (normalized && normalized->gradient->second_stride == 1 && input.size(1) == cuda::kWindowChannels) {
      pass(kernels, work, *normalized);
      normalized->gradient->whole = result;
    } else {
      kernels.window_convolution(work);
    }
    return result;
  }

  // As far as the ReLU before it let it by.
  static void pass(const cuda::Kernels& kernels, const cuda::WindowConvolution& work,
                   const NormalizedInput& normalized) {
    PassedGradient& gradient = *normalized.gradient;
    constexpr std::int64_t kFloats = sizeof(cuda::GradientSums) / sizeof(float);
    gradient.sums = at::empty({kernels.window_parts(work), cuda::kWindowChannels, kFloats}, normalized.kept.options());
    kernels.window_passed(
        {.convolution = work,
         .values = normalized.values.const_data_ptr(),
         .kept = cuda::kept_channels(normalized.kept.mutable_data_ptr<float>(), cuda::kWindowChannels),
         .positive = cuda::bits_of(normalized.positive),
         .add = gradient.second.defined() ? gradient.second.const_data_ptr() : nullptr,
         .sums = static_cast<cuda::GradientSums*>(gradient.sums.mutable_data_ptr())});
  }

  static at::Tensor weight_gradient(const at::Tensor& gradient, const at::Tensor& input, const at::Tensor& weight) {
    at::Tensor result = at::empty_like(weight);
    cuda::kernels_on(input.device())
        ->window_gradient({.samples = size_of(input, 0),
                           .height = size_of(input, 2),
                           .width = size_of(input, 3),
                           .channels = size_of(input, 1),
                           .x = input.const_data_ptr(),
                           .gradient = gradient.const_data_ptr(),
                           .weight_gradient = result.mutable_data_ptr()});
    return result;
  }
};

// Whether tiles have few places outside of a picture: for 64 channels cuDNN takes 1.7 times as long for a place, for
// 128 and their weights 1.2 times.
bool fills_tiles(std::int64_t channels, std::int64_t height, std::int64_t width) {
  if (channels == kWide) return height % cuda::kGradientTileRows == 0 && width % cuda::kGradientTileColumns == 0;
  const std::int64_t columns = cuda::window_tile_columns(static_cast<int>(width));
  const std::int64_t computed =
      divide_up(height, cuda::kWindowTileRows) * cuda::kWindowTileRows * divide_up(width, columns) * columns;
  return 3 * computed <= 4 * height * width;
}

bool are_bfloat16(const at::Tensor& input, const at::Tensor& weight) {
  return cuda::is_taken(input) && input.dim() == 4 && input.scalar_type() == at::kBFloat16 &&
         weight.device() == input.device() && weight.scalar_type() == at::kBFloat16 && cuda::is_aligned(weight) &&
         weight.is_contiguous(at::MemoryFormat::ChannelsLast);
}

}  // namespace

bool can_window_convolve(const at::Tensor& input, const at::Tensor& weight, const ConvolutionOptions& options) {
  const std::vector<std::int64_t> ones{1, 1};
  if (options.stride != ones || options.padding != ones || options.dilation != ones || options.groups != 1)
    return false;
  if (weight.dim() != 4 || !are_bfloat16(input, weight) || at::tracer::impl::is_dispatch_enabled()) return false;
  const std::int64_t channels = input.size(1);
  if (weight.sizes() != at::IntArrayRef{channels, channels, 3, 3}) return false;
  const cuda::Kernels* kernels = cuda::kernels_on(input.device());
  if (kernels == nullptr || !kernels->have_products()) return false;
  if (are_stacked(input)) return kernels->window_keeps_busy(work_for(input, weight));
  return (channels == cuda::kWindowChannels || channels == kWide) &&
         fills_tiles(channels, input.size(2), input.size(3));
}

at::Tensor window_convolve(const at::Tensor& input, const at::Tensor& weight) {
  const c10::DeviceGuard guard(input.device());
  return WindowConvolution::apply(input, weight);
}

at::Tensor known_of_window_convolve(const at::Tensor& result) {
  return known_of<WindowConvolution>(result);
}

}  // namespace lockstep::kernels
