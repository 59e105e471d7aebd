// ResNet, wide ResNet and ResNeXt, as torchvision has them. Modules are made and initialized in its order too, so one
// seed gives both the same parameters.
#include <array>
#include <optional>

#include <torch/nn/modules/linear.h>

#include <lockstep/kernels/pool.h>
#include <lockstep/nn/conv_norm_act.h>

#include "families.h"
#include "init.h"

namespace lockstep::nn {
namespace {

using torch::nn::Conv2dOptions;

struct Architecture {
  std::string name;
  std::array<int, 4> blocks;  // of each layer
  bool bottleneck = true;
  std::int64_t groups = 1;
  std::int64_t width_per_group = 64;

  std::int64_t expansion() const { return bottleneck ? 4 : 1; }
};

// The channels of one block.
struct BlockShape {
  std::int64_t inputs, planes, stride;
};

Conv2dOptions conv1x1(std::int64_t inputs, std::int64_t outputs, std::int64_t stride = 1) {
  return Conv2dOptions(inputs, outputs, 1).stride(stride).bias(false);
}

Conv2dOptions conv3x3(std::int64_t inputs, std::int64_t outputs, std::int64_t stride = 1, std::int64_t groups = 1) {
  return Conv2dOptions(inputs, outputs, 3).stride(stride).padding(1).groups(groups).bias(false);
}

class ResidualBlock : public torch::nn::Module {
 public:
  ResidualBlock(const Architecture& architecture, const BlockShape& shape) {
    const std::int64_t outputs = shape.planes * architecture.expansion();
    const auto downsample = std::make_shared<torch::nn::Module>("downsample");
    if (shape.stride != 1 || shape.inputs != outputs) {
      shortcut_.emplace(*downsample, conv1x1(shape.inputs, outputs, shape.stride),
                        ConvNormAct::Options{.convolution = "0", .normalization = "1", .relu = false});
    }
    if (architecture.bottleneck) {
      const std::int64_t width = shape.planes * architecture.width_per_group / 64 * architecture.groups;
      add(conv1x1(shape.inputs, width));
      add(conv3x3(width, width, shape.stride, architecture.groups));
      add(conv1x1(width, outputs));
    } else {
      add(conv3x3(shape.inputs, shape.planes, shape.stride));
      add(conv3x3(shape.planes, shape.planes));
    }
    if (shortcut_) register_module("downsample", downsample);
  }

  // Its input is read by the first convolution and by the shortcut, and so is its output.
  kernels::ForTwo forward(const kernels::ForTwo& input) {
    at::Tensor output = input.first;
    for (std::size_t i = 0; i + 1 < steps_.size(); ++i) output = steps_[i].forward(output);
    return steps_.back().forward_for_two(output, shortcut_ ? shortcut_->forward(input.second) : input.second);
  }

  // Until its last normalization learns another weight, the block only passes on its shortcut.
  void start_as_identity() { torch::nn::init::zeros_(steps_.back().normalization().weight); }

 private:
  void add(const Conv2dOptions& convolution) {
    const std::string number = std::to_string(steps_.size() + 1);
    steps_.emplace_back(*this, convolution,
                        ConvNormAct::Options{.convolution = "conv" + number, .normalization = "bn" + number});
  }

  std::vector<ConvNormAct> steps_;
  std::optional<ConvNormAct> shortcut_;
};

Conv2dOptions stem_convolution(std::int64_t channels, Stem stem) {
  const std::int64_t kernel = stem == Stem::kCifar3x3 ? 3 : 7;
  return Conv2dOptions(channels, 64, kernel).stride(stem == Stem::kImagenet ? 2 : 1).padding(kernel / 2).bias(false);
}

class ResNet : public Model {
 public:
  ResNet(const Architecture& architecture, const ModelOptions& options)
      : Model(input_of(options), value_or(options.num_classes, options.stem == Stem::kImagenet ? 1000 : 100)),
        pools_(options.stem == Stem::kImagenet),
        stem_(*this, stem_convolution(input_shape().front(), options.stem),
              {.convolution = "conv1", .normalization = "bn1"}) {
    std::int64_t inputs = 64;
    for (int layer = 0; layer < 4; ++layer) {
      const auto holder = register_module("layer" + std::to_string(layer + 1), std::make_shared<torch::nn::Module>());
      for (int block = 0; block < architecture.blocks[static_cast<std::size_t>(layer)]; ++block) {
        const BlockShape shape{inputs, std::int64_t{64} << layer, layer > 0 && block == 0 ? 2 : 1};
        blocks_.push_back(
            holder->register_module(std::to_string(block), std::make_shared<ResidualBlock>(architecture, shape)));
        inputs = shape.planes * architecture.expansion();
      }
    }
    fc_ = register_module("fc", torch::nn::Linear(inputs, num_classes()));
    init_convolutions(*this);
    if (options.zero_init_residual) {
      for (const auto& block : blocks_) block->start_as_identity();
    }
  }

  at::Tensor forward(at::Tensor input) override {
    kernels::ForTwo x = pools_ ? pooled_stem(input) : stem_.forward_for_two(input);
    for (const auto& block : blocks_) x = block->forward(x);
    return fc_->forward(kernels::global_average_pool(x.first).flatten(1));
  }

 private:
  kernels::ForTwo pooled_stem(const at::Tensor& input) {
    const at::Tensor x = kernels::max_pool(stem_.forward(input), {.kernel = 3, .stride = 2, .padding = 1});
    return {x, x};
  }

  static std::vector<std::int64_t> input_of(const ModelOptions& options) {
    const std::int64_t side = options.stem == Stem::kImagenet ? 224 : 32;
    return {value_or(options.input_channels, 3), side, side};
  }

  bool pools_;
  ConvNormAct stem_;
  std::vector<std::shared_ptr<ResidualBlock>> blocks_;
  torch::nn::Linear fc_{nullptr};
};

}  // namespace

NamedFactories resnets() {
  NamedFactories factories;
  for (const auto& architecture : std::vector<Architecture>{
           {.name = "resnet18", .blocks = {2, 2, 2, 2}, .bottleneck = false},
           {.name = "resnet34", .blocks = {3, 4, 6, 3}, .bottleneck = false},
           {.name = "resnet50", .blocks = {3, 4, 6, 3}},
           {.name = "resnet101", .blocks = {3, 4, 23, 3}},
           {.name = "resnet152", .blocks = {3, 8, 36, 3}},
           {.name = "wide_resnet50_2", .blocks = {3, 4, 6, 3}, .width_per_group = 128},
           {.name = "wide_resnet101_2", .blocks = {3, 4, 23, 3}, .width_per_group = 128},
           {.name = "resnext50_32x4d", .blocks = {3, 4, 6, 3}, .groups = 32, .width_per_group = 4},
           {.name = "resnext101_32x8d", .blocks = {3, 4, 23, 3}, .groups = 32, .width_per_group = 8},
           {.name = "resnext101_64x4d", .blocks = {3, 4, 23, 3}, .groups = 64, .width_per_group = 4},
       }) {
    factories.emplace_back(architecture.name, [architecture](const ModelOptions& options) {
      return std::make_shared<ResNet>(architecture, options);
    });
  }
  return factories;
}

}  // namespace lockstep::nn
