#pragma once
#include <ATen/ops/relu.h>
#include <torch/nn/modules/conv.h>

#include <lockstep/kernels/convolution.h>
#include <lockstep/kernels/engine.h>

namespace lockstep::nn {

// The module's result, and its ReLU if that is asked for, by the engine that is set.
template <std::size_t D, typename Derived>
at::Tensor convolve(torch::nn::ConvNdImpl<D, Derived>& module, const at::Tensor& input, bool relu = false) {
  const auto& options = module.options;
  const auto* padding = std::get_if<torch::ExpandingArray<D>>(&options.padding());
  if (kernels::engine() == kernels::Engine::kFused && padding != nullptr &&
      std::holds_alternative<torch::enumtype::kZeros>(options.padding_mode())) {
    const auto listed = [](const torch::ExpandingArray<D>& values) {
      return std::vector<std::int64_t>(values->begin(), values->end());
    };
    const kernels::ConvolutionOptions chosen{.stride = listed(options.stride()),
                                             .padding = listed(*padding),
                                             .dilation = listed(options.dilation()),
                                             .groups = options.groups(),
                                             .relu = relu};
    if (kernels::can_convolve(input, module.weight, chosen)) {
      return kernels::convolve(input, module.weight, module.bias, chosen);
    }
  }
  const at::Tensor output = static_cast<Derived&>(module).forward(input);
  return relu ? at::relu(output) : output;
}

}  // namespace lockstep::nn
