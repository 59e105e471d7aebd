// How torchvision initializes the layers of its models. The order is that of the modules, so one seed gives the same.
#pragma once
#include <torch/nn/init.h>
#include <torch/nn/modules/conv.h>

namespace lockstep::nn {

inline void init_convolutions(const torch::nn::Module& model) {
  for (const auto& module : model.modules(/*include_self=*/false)) {
    auto* convolution = module->as<torch::nn::Conv2dImpl>();
    if (convolution == nullptr) continue;
    torch::nn::init::kaiming_normal_(convolution->weight, 0, torch::kFanOut, torch::kReLU);
    if (convolution->bias.defined()) torch::nn::init::zeros_(convolution->bias);
  }
}

}  // namespace lockstep::nn
