// The block that convolutional models are made of.
#pragma once
#include <optional>
#include <string>
#include <utility>

#include <torch/nn/modules/conv.h>

#include <lockstep/kernels/pool.h>
#include <lockstep/nn/batch_norm.h>

namespace lockstep::nn {

// A convolution, its pooling, its normalization, the sum with a shortcut, a ReLU: what of it there is, as one step.
// Whatever makes such a step faster comes in here, and every model has it.
//
// It is no module itself: the convolution and the normalization are children of `owner`, under the names that the
// model's parameters shall have.
class ConvNormAct {
 public:
  struct Options {
    std::string convolution;    // its name
    std::string normalization;  // empty: none
    bool relu = true;
    // Of what was convolved, before it is normalized; only where it is.
    std::optional<kernels::MaxPool> pool = std::nullopt;
  };

  ConvNormAct(torch::nn::Module& owner, const torch::nn::Conv2dOptions& convolution, const Options& options);

  at::Tensor forward(const at::Tensor& input);
  // With `shortcut`, where it is defined, added before the ReLU.
  at::Tensor forward(const at::Tensor& input, const at::Tensor& shortcut);
  // Without a shortcut, with a pooling after all else.
  at::Tensor forward_then_pool(const at::Tensor& input, const kernels::MaxPool& pool);
  // The same for two readers, neither of which changes it in place. Only where there is a normalization.
  kernels::ForTwo forward_for_two(const at::Tensor& input, const at::Tensor& shortcut = {});

  torch::nn::Conv2dImpl& convolution() { return *convolution_; }
  BatchNormImpl& normalization() { return *normalization_; }  // only where there is one

 private:
  // What the convolution reads: all of the input, or those places of it alone that its stride leaves.
  struct Read {
    at::Tensor input;
    bool leaves_stride = true;  // to the convolution
  };
  Read read(const at::Tensor& input) const;
  // Both in one step, where the engine has one.
  std::optional<kernels::ForTwo> in_one(const Read& read, const at::Tensor& shortcut);
  // What is normalized, and what the normalization is told.
  std::pair<at::Tensor, BatchNormImpl::Then> before_normalization(const Read& read, const at::Tensor& shortcut);

  torch::nn::Conv2d convolution_;
  BatchNorm normalization_{nullptr};
  bool relu_;
  std::optional<kernels::MaxPool> pool_;
};

}  // namespace lockstep::nn
