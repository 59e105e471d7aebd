// AlexNet and VGG, as torchvision has them: a chain of convolutions with pooling between, then three linear layers.
// Modules are made and initialized in its order too, so one seed gives both the same parameters.
#include <optional>

#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/linear.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>

#include <lockstep/kernels/casts.h>
#include <lockstep/kernels/dropout.h>
#include <lockstep/kernels/engine.h>
#include <lockstep/kernels/linear.h>
#include <lockstep/kernels/pool.h>
#include <lockstep/nn/conv_norm_act.h>

#include "families.h"
#include "init.h"

namespace lockstep::nn {
namespace {

using torch::nn::Conv2dOptions;
using torch::nn::ReLU;

constexpr std::int64_t kHidden = 4096;

// Of every second value, as torch::nn::Dropout has it.
class DropoutImpl : public torch::nn::Module {
 public:
  at::Tensor forward(const at::Tensor& input) { return is_training() ? kernels::dropout(input, 0.5) : input; }
};
TORCH_MODULE(Dropout);

// As torch::nn::Linear, by the engine that is set.
class LinearImpl : public torch::nn::LinearImpl {
 public:
  using torch::nn::LinearImpl::LinearImpl;

  at::Tensor forward(const at::Tensor& input) {
    if (kernels::engine() == kernels::Engine::kFused && kernels::can_linear(input, weight, bias)) {
      return kernels::linear(input, weight, bias);
    }
    return at::linear(input, kernels::cast_of(weight), bias);
  }
};
TORCH_MODULE(Linear);

// The names of `features.N` count the layers of torchvision's Sequential: a ReLU and a pooling are one each.
class ChainNet : public Model {
 public:
  at::Tensor forward(at::Tensor input) override {
    for (auto& step : steps_) {
      input = step.pool ? step.convolution.forward_then_pool(input, *step.pool) : step.convolution.forward(input);
    }
    return classifier_->forward(averaged(input).flatten(1));
  }

 protected:
  ChainNet(std::int64_t channels, std::int64_t num_classes, std::int64_t pool_kernel, std::int64_t side)
      : Model({channels, 224, 224}, num_classes), pool_kernel_(pool_kernel), side_(side) {}

  void add(const Conv2dOptions& convolution, bool normalizes, bool pools) {
    const int first = next_layer_;
    next_layer_ += 2 + (normalizes ? 1 : 0) + (pools ? 1 : 0);
    // A pooling takes over the ReLU before it; but a normalization has it for nothing.
    const bool pool_rectifies = pools && !normalizes;
    steps_.push_back({ConvNormAct(*features_, convolution,
                                  {.convolution = std::to_string(first),
                                   .normalization = normalizes ? std::to_string(first + 1) : "",
                                   .relu = !pool_rectifies}),
                      {}});
    if (!pools) return;
    steps_.back().pool = kernels::MaxPool{.kernel = pool_kernel_, .owns_input = true};
    if (pool_rectifies) steps_.back().pool->slope = 0;
  }

  // A list in braces is made from left to right, and so parameters come from the generator in one order; arguments of a
  // function are made in the order that a compiler likes.
  using AnyModule = torch::nn::AnyModule;
  using AnyModules = std::vector<AnyModule>;
  void classify(const AnyModules& layers) {
    for (const AnyModule& layer : layers) classifier_->push_back(layer);
    register_module("classifier", classifier_);
  }

 private:
  // To the size that the classifier wants. Pictures of 224 x 224 have it already.
  at::Tensor averaged(const at::Tensor& input) const {
    const bool fits = input.size(2) == side_ && input.size(3) == side_;
    if (fits && kernels::engine() == kernels::Engine::kFused) return input;
    return at::adaptive_avg_pool2d(input, {side_, side_});
  }

  torch::nn::Sequential classifier_;
  struct Step {
    ConvNormAct convolution;
    std::optional<kernels::MaxPool> pool;
  };
  std::int64_t pool_kernel_, side_;
  std::shared_ptr<torch::nn::Module> features_ = register_module("features", std::make_shared<torch::nn::Module>());
  std::vector<Step> steps_;
  int next_layer_ = 0;
};

class AlexNet : public ChainNet {
 public:
  AlexNet(std::int64_t channels, std::int64_t num_classes) : ChainNet(channels, num_classes, 3, 6) {
    add(Conv2dOptions(channels, 64, 11).stride(4).padding(2), false, true);
    add(Conv2dOptions(64, 192, 5).padding(2), false, true);
    add(Conv2dOptions(192, 384, 3).padding(1), false, false);
    add(Conv2dOptions(384, 256, 3).padding(1), false, false);
    add(Conv2dOptions(256, 256, 3).padding(1), false, true);
    classify(AnyModules{AnyModule(Dropout()), AnyModule(Linear(256 * 6 * 6, kHidden)), AnyModule(ReLU(true)),
                        AnyModule(Dropout()), AnyModule(Linear(kHidden, kHidden)), AnyModule(ReLU(true)),
                        AnyModule(Linear(kHidden, num_classes))});
  }
};

struct VggArchitecture {
  std::string name;
  std::vector<std::vector<std::int64_t>> stages;  // the channels of their convolutions; a pooling ends each
};

class Vgg : public ChainNet {
 public:
  Vgg(const VggArchitecture& architecture, bool normalizes, std::int64_t channels, std::int64_t num_classes)
      : ChainNet(channels, num_classes, 2, 7) {
    std::int64_t inputs = channels;
    for (const auto& stage : architecture.stages) {
      for (std::size_t i = 0; i < stage.size(); ++i) {
        add(Conv2dOptions(inputs, stage[i], 3).padding(1), normalizes, i + 1 == stage.size());
        inputs = stage[i];
      }
    }
    classify(AnyModules{AnyModule(Linear(512 * 7 * 7, kHidden)), AnyModule(ReLU(true)), AnyModule(Dropout()),
                        AnyModule(Linear(kHidden, kHidden)), AnyModule(ReLU(true)), AnyModule(Dropout()),
                        AnyModule(Linear(kHidden, num_classes))});
    init_convolutions(*this);
    for (const auto& module : modules(/*include_self=*/false)) {
      if (auto* linear = module->as<torch::nn::LinearImpl>()) {
        torch::nn::init::normal_(linear->weight, 0, 0.01);
        torch::nn::init::zeros_(linear->bias);
      }
    }
  }
};

}  // namespace

NamedFactories chain_nets() {
  NamedFactories factories;
  factories.emplace_back("alexnet", [](const ModelOptions& options) {
    require_no_resnet_options("alexnet", options);
    return std::make_shared<AlexNet>(value_or(options.input_channels, 3), value_or(options.num_classes, 1000));
  });
  for (const auto& architecture : std::vector<VggArchitecture>{
           {"vgg11", {{64}, {128}, {256, 256}, {512, 512}, {512, 512}}},
           {"vgg13", {{64, 64}, {128, 128}, {256, 256}, {512, 512}, {512, 512}}},
           {"vgg16", {{64, 64}, {128, 128}, {256, 256, 256}, {512, 512, 512}, {512, 512, 512}}},
           {"vgg19", {{64, 64}, {128, 128}, {256, 256, 256, 256}, {512, 512, 512, 512}, {512, 512, 512, 512}}},
       }) {
    for (const bool normalizes : {false, true}) {
      const std::string name = architecture.name + (normalizes ? "_bn" : "");
      factories.emplace_back(name, [name, architecture, normalizes](const ModelOptions& options) {
        require_no_resnet_options(name, options);
        return std::make_shared<Vgg>(architecture, normalizes, value_or(options.input_channels, 3),
                                     value_or(options.num_classes, 1000));
      });
    }
  }
  return factories;
}

}  // namespace lockstep::nn
