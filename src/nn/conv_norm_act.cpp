#include <lockstep/nn/conv_norm_act.h>

#include <ATen/ops/relu.h>

#include <lockstep/kernels/every_nth.h>

#include "convolve_then.h"

namespace lockstep::nn {

ConvNormAct::ConvNormAct(torch::nn::Module& owner, const torch::nn::Conv2dOptions& convolution, const Options& options)
    : convolution_(convolution), relu_(options.relu), pool_(options.pool) {
  owner.register_module(options.convolution, convolution_);
  if (options.normalization.empty()) return;
  normalization_ = BatchNorm(torch::nn::BatchNormOptions(convolution.out_channels()));
  owner.register_module(options.normalization, normalization_);
}

at::Tensor ConvNormAct::forward(const at::Tensor& input) {
  return forward(input, at::Tensor());
}

at::Tensor ConvNormAct::forward(const at::Tensor& input, const at::Tensor& shortcut) {
  if (!normalization_ && !shortcut.defined()) return convolve_then_act(*convolution_, input, relu_);
  if (normalization_) {
    const Read read = this->read(input);
    if (const auto output = in_one(read, shortcut)) return output->first;
    const auto [output, then] = before_normalization(read, shortcut);
    return normalization_->forward_then(output, then);
  }
  at::Tensor output = convolve(*convolution_, input);
  output.add_(shortcut);
  return relu_ ? at::relu_(output) : output;
}

at::Tensor ConvNormAct::forward_then_pool(const at::Tensor& input, const kernels::MaxPool& pool) {
  if (normalization_ || relu_) return kernels::max_pool(forward(input), pool);
  return convolve_then_pool(*convolution_, input, pool);
}

kernels::ForTwo ConvNormAct::forward_for_two(const at::Tensor& input, const at::Tensor& shortcut) {
  const Read read = this->read(input);
  if (const auto output = in_one(read, shortcut)) return *output;
  const auto [output, then] = before_normalization(read, shortcut);
  return normalization_->forward_for_two(output, then);
}

ConvNormAct::Read ConvNormAct::read(const at::Tensor& input) const {
  const at::Tensor& weight = convolution_->weight;
  if (!input.is_cuda() || weight.size(2) * weight.size(3) != 1 || kernels::engine() != kernels::Engine::kFused)
    return {input};
  auto options = convolution_options(*convolution_);
  if (!options || options->stride[0] == 1 || options->stride[0] != options->stride[1]) return {input};
  const std::int64_t stride = options->stride[0];
  options->stride = {1, 1};
  if (!options->move_nothing() || !kernels::can_every_nth(input)) return {input};
  return {.input = kernels::every_nth(input, stride), .leaves_stride = false};
}

std::optional<kernels::ForTwo> ConvNormAct::in_one(const Read& read, const at::Tensor& shortcut) {
  const at::Tensor& weight = convolution_->weight;
  if (!read.input.is_cuda() || weight.size(2) * weight.size(3) != 1 || convolution_->bias.defined() || pool_) return {};
  const auto options = convolution_options(*convolution_);
  if (!options || (read.leaves_stride && !options->move_nothing())) return {};
  return normalization_->forward_pointwise(read.input, kernels::cast_of(weight), {.shortcut = shortcut, .relu = relu_});
}

std::pair<at::Tensor, BatchNormImpl::Then> ConvNormAct::before_normalization(const Read& read,
                                                                             const at::Tensor& shortcut) {
  const bool leaves_bias = normalization_->takes_bias() && can_leave_bias(*convolution_, read.input);
  at::Tensor output = convolve(*convolution_, read.input, {.bias = !leaves_bias, .stride = read.leaves_stride});
  if (pool_) output = kernels::max_pool(output, *pool_);
  return {output, {.input_bias = leaves_bias ? convolution_->bias : at::Tensor(), .shortcut = shortcut, .relu = relu_}};
}

}  // namespace lockstep::nn
