// The small nets: of the classic CPU benchmarks, and one to begin with.
#include <ATen/ops/relu.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/rnn.h>

#include "convolve_then.h"
#include "families.h"
#include "lstm_outputs.h"

namespace lockstep::nn {
namespace {

using torch::nn::Conv2d;
using torch::nn::Conv2dOptions;
using torch::nn::Conv3d;
using torch::nn::Conv3dOptions;
using torch::nn::Linear;

// A convolution, a ReLU, and a pooling that halves a picture's sides.
at::Tensor convolve_and_halve(Conv2d& convolution, const at::Tensor& input) {
  return convolve_then_pool(*convolution, input, {.slope = 0});
}

// Two convolutions and two linear layers, for 28 x 28 digits.
class Mnist : public Model {
 public:
  Mnist(std::int64_t channels, std::int64_t num_classes)
      : Model({channels, 28, 28}, num_classes),
        conv1_(register_module("conv1", Conv2d(Conv2dOptions(channels, 32, 3)))),
        conv2_(register_module("conv2", Conv2d(Conv2dOptions(32, 64, 3)))),
        fc1_(register_module("fc1", Linear(64 * 12 * 12, 128))),
        fc2_(register_module("fc2", Linear(128, num_classes))) {}

  at::Tensor forward(at::Tensor input) override {
    const at::Tensor x = convolve_and_halve(conv2_, convolve_then_act(*conv1_, input, /*relu=*/true));
    return fc2_(at::relu(fc1_(x.flatten(1))));
  }

 private:
  Conv2d conv1_, conv2_;
  Linear fc1_, fc2_;
};

// Small and quick, for 28 x 28 digits: as LeNet-5, with rectifiers and wider.
class Lenet : public Model {
 public:
  Lenet(std::int64_t channels, std::int64_t num_classes)
      : Model({channels, 28, 28}, num_classes),
        conv1_(register_module("conv1", Conv2d(Conv2dOptions(channels, 16, 5)))),
        conv2_(register_module("conv2", Conv2d(Conv2dOptions(16, 32, 5)))),
        fc1_(register_module("fc1", Linear(32 * 4 * 4, 128))),
        fc2_(register_module("fc2", Linear(128, num_classes))) {}

  at::Tensor forward(at::Tensor input) override {
    const at::Tensor x = convolve_and_halve(conv2_, convolve_and_halve(conv1_, input));
    return fc2_(at::relu(fc1_(x.flatten(1))));
  }

 private:
  Conv2d conv1_, conv2_;
  Linear fc1_, fc2_;
};

// Two layers of 512 over a sequence; the last step is classified. The channels are the features of a step.
class Lstm : public Model {
 public:
  Lstm(std::int64_t channels, std::int64_t num_classes)
      : Model({32, channels}, num_classes),
        lstm_(register_module("lstm",
                              torch::nn::LSTM(torch::nn::LSTMOptions(channels, 512).num_layers(2).batch_first(true)))),
        fc_(register_module("fc", Linear(512, num_classes))) {}

  at::Tensor forward(at::Tensor input) override { return fc_(lstm_outputs(*lstm_, input).select(1, -1)); }

 private:
  torch::nn::LSTM lstm_;
  Linear fc_;
};

// Four convolutions over volumes of 32 x 32 x 32, each with a pooling.
class Conv3dNet : public Model {
 public:
  Conv3dNet(std::int64_t channels, std::int64_t num_classes) : Model({channels, 32, 32, 32}, num_classes) {
    const auto features = register_module("features", std::make_shared<torch::nn::Module>());
    std::int64_t inputs = channels;
    for (const std::int64_t outputs : {16, 32, 64, 128}) {
      // The names of a Sequential of convolution, activation and pooling.
      const std::string name = std::to_string(3 * convolutions_.size());
      convolutions_.push_back(features->register_module(name, Conv3d(Conv3dOptions(inputs, outputs, 3).padding(1))));
      inputs = outputs;
    }
    fc_ = register_module("fc", Linear(128 * 2 * 2 * 2, num_classes));
  }

  at::Tensor forward(at::Tensor input) override {
    for (auto& convolution : convolutions_) input = convolve_then_pool(*convolution, input, {.slope = 0.01});
    return fc_(input.flatten(1));
  }

 private:
  std::vector<Conv3d> convolutions_;
  Linear fc_{nullptr};
};

template <typename Net>
std::pair<std::string, ModelFactory> named(const std::string& name, std::int64_t channels, std::int64_t classes) {
  return {name, [=](const ModelOptions& options) {
            require_no_resnet_options(name, options);
            return std::make_shared<Net>(value_or(options.input_channels, channels),
                                         value_or(options.num_classes, classes));
          }};
}

}  // namespace

NamedFactories classic_nets() {
  return {named<Mnist>("mnist", 1, 10), named<Lenet>("lenet", 1, 10), named<Lstm>("lstm", 128, 100),
          named<Conv3dNet>("conv3d", 2, 4)};
}

}  // namespace lockstep::nn
