// A small transformer over sequences, with the parameter names of Python's nn.TransformerEncoder(norm_first=True). It
// has no dropout: it is a net to measure and to compare with.
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <lockstep/base/errors.h>

#include "families.h"

namespace lockstep::nn {
namespace {

using torch::nn::LayerNorm;
using torch::nn::LayerNormOptions;
using torch::nn::Linear;

constexpr std::int64_t kSteps = 32, kFeatures = 128, kWidth = 256, kHeads = 4, kHidden = 1024;
constexpr int kLayers = 4;

class SelfAttention : public torch::nn::Module {
 public:
  SelfAttention()
      : in_proj_weight_(register_parameter("in_proj_weight", at::zeros({3 * kWidth, kWidth}))),
        in_proj_bias_(register_parameter("in_proj_bias", at::zeros({3 * kWidth}))),
        out_proj_(register_module("out_proj", Linear(kWidth, kWidth))) {
    torch::nn::init::xavier_uniform_(in_proj_weight_);
    torch::nn::init::zeros_(out_proj_->bias);
  }

  at::Tensor forward(const at::Tensor& input) {
    const std::int64_t batch = input.size(0), steps = input.size(1);
    // Queries, keys and values, each batch x heads x steps x width of a head.
    const auto parts = at::linear(input, in_proj_weight_, in_proj_bias_)
                           .view({batch, steps, 3, kHeads, kWidth / kHeads})
                           .permute({2, 0, 3, 1, 4})
                           .unbind(0);
    const at::Tensor mixed = at::scaled_dot_product_attention(parts[0], parts[1], parts[2]);
    return out_proj_->forward(mixed.transpose(1, 2).reshape({batch, steps, kWidth}));
  }

 private:
  at::Tensor in_proj_weight_, in_proj_bias_;
  Linear out_proj_;
};

class EncoderLayer : public torch::nn::Module {
 public:
  EncoderLayer()
      : attention_(register_module("self_attn", std::make_shared<SelfAttention>())),
        linear1_(register_module("linear1", Linear(kWidth, kHidden))),
        linear2_(register_module("linear2", Linear(kHidden, kWidth))),
        norm1_(register_module("norm1", LayerNorm(LayerNormOptions({kWidth})))),
        norm2_(register_module("norm2", LayerNorm(LayerNormOptions({kWidth})))) {}

  at::Tensor forward(const at::Tensor& input) {
    const at::Tensor x = input + attention_->forward(norm1_->forward(input));
    return x + linear2_->forward(at::gelu(linear1_->forward(norm2_->forward(x))));
  }

 private:
  std::shared_ptr<SelfAttention> attention_;
  Linear linear1_, linear2_;
  LayerNorm norm1_, norm2_;
};

// The mean over the steps is classified. The channels are the features of a step.
class Transformer : public Model {
 public:
  Transformer(std::int64_t channels, std::int64_t num_classes)
      : Model({kSteps, channels}, num_classes),
        embedding_(register_module("embedding", Linear(channels, kWidth))),
        position_(register_parameter("position", at::randn({kSteps, kWidth}) * kPositionDeviation)) {
    const auto encoder = register_module("encoder", std::make_shared<torch::nn::Module>());
    const auto layers = encoder->register_module("layers", std::make_shared<torch::nn::Module>());
    for (int i = 0; i < kLayers; ++i) {
      layers_.push_back(layers->register_module(std::to_string(i), std::make_shared<EncoderLayer>()));
    }
    norm_ = encoder->register_module("norm", LayerNorm(LayerNormOptions({kWidth})));
    fc_ = register_module("fc", Linear(kWidth, num_classes));
  }

  at::Tensor forward(at::Tensor input) override {
    if (input.dim() != 3 || input.size(1) > kSteps) {
      throw UsageError({.message = "the input does not fit the transformer",
                        .found = c10::str("a tensor of shape ", input.sizes()),
                        .expected = fmt::format("samples x at most {} steps x features", kSteps)});
    }
    at::Tensor x = embedding_->forward(input) + position_.narrow(0, 0, input.size(1));
    for (const auto& layer : layers_) x = layer->forward(x);
    return fc_->forward(norm_->forward(x).mean(1));
  }

 private:
  static constexpr double kPositionDeviation = 0.02;

  Linear embedding_;
  at::Tensor position_;
  std::vector<std::shared_ptr<EncoderLayer>> layers_;
  LayerNorm norm_{nullptr};
  Linear fc_{nullptr};
};

}  // namespace

NamedFactories transformers() {
  return {{"transformer", [](const ModelOptions& options) {
             require_no_resnet_options("transformer", options);
             return std::make_shared<Transformer>(value_or(options.input_channels, kFeatures),
                                                  value_or(options.num_classes, 100));
           }}};
}

}  // namespace lockstep::nn
