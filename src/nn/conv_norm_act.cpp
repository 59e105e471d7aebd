#include <lockstep/nn/conv_norm_act.h>

#include <ATen/ops/relu.h>

#include "convolve.h"

namespace lockstep::nn {

ConvNormAct::ConvNormAct(torch::nn::Module& owner, const torch::nn::Conv2dOptions& convolution, const Options& options)
    : convolution_(convolution), relu_(options.relu) {
  owner.register_module(options.convolution, convolution_);
  if (options.normalization.empty()) return;
  normalization_ = BatchNorm(torch::nn::BatchNormOptions(convolution.out_channels()));
  owner.register_module(options.normalization, normalization_);
}

at::Tensor ConvNormAct::forward(const at::Tensor& input) {
  if (!normalization_) return convolve(*convolution_, input, relu_);
  at::Tensor output = normalized(input);
  return relu_ ? at::relu_(output) : output;
}

at::Tensor ConvNormAct::forward(const at::Tensor& input, const at::Tensor& shortcut) {
  at::Tensor output = normalized(input).add_(shortcut);
  return relu_ ? at::relu_(output) : output;
}

at::Tensor ConvNormAct::normalized(const at::Tensor& input) {
  at::Tensor output = convolve(*convolution_, input);
  return normalization_ ? normalization_->forward(output) : output;
}

}  // namespace lockstep::nn
