// The net of the CIFAR-10 Airbench (K. Jordan, "94% on CIFAR-10 in 3.29 seconds on a single GPU", 2024) in the size
// that is made for 96%, but for its first convolution: that one is learned and normalized here, there it whitens.
#include <array>

#include <ATen/ops/gelu.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/linear.h>

#include <lockstep/nn/conv_norm_act.h>

#include "families.h"

namespace lockstep::nn {
namespace {

constexpr std::int64_t kStemChannels = 32;
constexpr std::array<std::int64_t, 3> kWidths = {128, 384, 512};
constexpr double kScale = 1.0 / 9;  // of the scores, which are large after a maximum over all pixels

torch::nn::Conv2dOptions conv3x3(std::int64_t inputs, std::int64_t outputs) {
  return torch::nn::Conv2dOptions(inputs, outputs, 3).padding(1).bias(false);
}

// Three convolutions. The first halves the sides by a pooling, which comes before its normalization and so leaves that
// a quarter of the work; round the other two goes a shortcut.
class Group : public torch::nn::Module {
 public:
  Group(std::int64_t inputs, std::int64_t outputs)
      : first_(*this, conv3x3(inputs, outputs),
               {.convolution = "conv1", .normalization = "bn1", .relu = false, .pool = kernels::MaxPool{}}),
        second_(*this, conv3x3(outputs, outputs), {.convolution = "conv2", .normalization = "bn2", .relu = false}),
        third_(*this, conv3x3(outputs, outputs), {.convolution = "conv3", .normalization = "bn3", .relu = false}) {
    // As many channels as come in are at first passed on as they are.
    for (auto* step : {&first_, &second_, &third_}) {
      const at::Tensor weight = step->convolution().weight;
      torch::nn::init::dirac_(weight.detach().slice(0, 0, weight.size(1)));
    }
  }

  at::Tensor forward(const at::Tensor& input) {
    const at::Tensor x = at::gelu(first_.forward(input));
    return at::gelu(third_.forward(at::gelu(second_.forward(x)), x));
  }

 private:
  ConvNormAct first_, second_, third_;
};

class Airbench : public Model {
 public:
  Airbench(std::int64_t channels, std::int64_t num_classes)
      : Model({channels, 32, 32}, num_classes),
        stem_(*this, conv3x3(channels, kStemChannels),
              {.convolution = "conv1", .normalization = "bn1", .relu = false}) {
    std::int64_t inputs = kStemChannels;
    for (const std::int64_t outputs : kWidths) {
      groups_.push_back(
          register_module("group" + std::to_string(groups_.size() + 1), std::make_shared<Group>(inputs, outputs)));
      inputs = outputs;
    }
    fc_ = register_module("fc", torch::nn::Linear(torch::nn::LinearOptions(inputs, num_classes).bias(false)));
  }

  at::Tensor forward(at::Tensor input) override {
    at::Tensor x = at::gelu(stem_.forward(input));
    for (const auto& group : groups_) x = group->forward(x);
    return fc_->forward(x.amax({2, 3})) * kScale;
  }

 private:
  ConvNormAct stem_;
  std::vector<std::shared_ptr<Group>> groups_;
  torch::nn::Linear fc_{nullptr};
};

}  // namespace

NamedFactories airbenches() {
  return {{"airbench", [](const ModelOptions& options) {
             require_no_resnet_options("airbench", options);
             return std::make_shared<Airbench>(value_or(options.input_channels, 3), value_or(options.num_classes, 10));
           }}};
}

}  // namespace lockstep::nn
