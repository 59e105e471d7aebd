#pragma once
#include <ATen/TracerMode.h>
#include <ATen/autocast_mode.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/relu.h>
#include <torch/nn/modules/conv.h>

#include <lockstep/kernels/casts.h>
#include <lockstep/kernels/convolution.h>
#include <lockstep/kernels/engine.h>

namespace lockstep::nn {

struct Convolved {
  bool bias = true;  // the module's, where it has one; false: the caller sees to it
  bool relu = false;
  bool stride = true;  // the module's; false: the input has only the places that it leaves
};

// What the fused engine needs to know of a convolution; nothing where libtorch pads in another way than by zeros.
template <std::size_t D, typename Derived>
std::optional<kernels::ConvolutionOptions> convolution_options(const torch::nn::ConvNdImpl<D, Derived>& module) {
  const auto& options = module.options;
  const auto* padding = std::get_if<torch::ExpandingArray<D>>(&options.padding());
  if (padding == nullptr || !std::holds_alternative<torch::enumtype::kZeros>(options.padding_mode())) return {};
  const auto listed = [](const torch::ExpandingArray<D>& values) {
    return std::vector<std::int64_t>(values->begin(), values->end());
  };
  return kernels::ConvolutionOptions{.stride = listed(options.stride()),
                                     .padding = listed(*padding),
                                     .dilation = listed(options.dilation()),
                                     .groups = options.groups()};
}

// Whether convolve() can leave the bias of a module out: on a GPU, where libtorch adds it by a pass of its own.
template <std::size_t D, typename Derived>
bool can_leave_bias(const torch::nn::ConvNdImpl<D, Derived>& module, const at::Tensor& input) {
  return module.bias.defined() && input.is_cuda() && input.dim() == static_cast<std::int64_t>(D) + 2 &&
         kernels::engine() == kernels::Engine::kFused && convolution_options(module);
}

// On CPUs autocast knows the functions that modules call, but not at::convolution.
inline bool is_for_autocast(const at::Tensor& input) {
  return input.is_cpu() && at::autocast::is_autocast_enabled(at::kCPU);
}

// Pictures of one channel have it first and last. libtorch takes them for channels first, and so would be the result,
// which is then converted for whatever follows: so they say that it is last. A trace would keep their sizes.
inline at::Tensor with_channel_last(const at::Tensor& input) {
  if (input.dim() != 4 || input.size(1) != 1 || input.requires_grad() || !input.is_contiguous()) return input;
  if (at::tracer::impl::is_dispatch_enabled()) return input;
  return input.as_strided(input.sizes(), {input.size(2) * input.size(3), 1, input.size(3), 1});
}

// The module's result by the engine that is set.
template <std::size_t D, typename Derived>
at::Tensor convolve(torch::nn::ConvNdImpl<D, Derived>& module, const at::Tensor& given, const Convolved& wanted = {}) {
  const bool is_fused = kernels::engine() == kernels::Engine::kFused && given.dim() == static_cast<std::int64_t>(D) + 2;
  const at::Tensor input = is_fused && given.is_cpu() ? with_channel_last(given) : given;
  if (is_fused) {
    if (auto options = convolution_options(module)) {
      const at::Tensor weight = kernels::cast_of(module.weight), bias = wanted.bias ? module.bias : at::Tensor();
      options->relu = wanted.relu;
      if (!wanted.stride) options->stride.assign(D, 1);
      if (kernels::can_convolve(input, weight, *options)) return kernels::convolve(input, weight, bias, *options);
      if (!is_for_autocast(input)) {
        at::Tensor output = at::convolution(input, weight, bias.defined() ? std::optional(bias) : std::nullopt,
                                            options->stride, options->padding, options->dilation,
                                            /*transposed=*/false, std::vector<std::int64_t>(D), options->groups);
        return wanted.relu ? at::relu_(output) : output;
      }
    }
  }
  at::Tensor output = static_cast<Derived&>(module).forward(input);
  return wanted.relu ? at::relu_(output) : output;
}

}  // namespace lockstep::nn
