// Every model that comes with the library: its size, its output, and that it learns.
#include <ATen/autocast_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <torch/utils.h>

#include <lockstep/base/errors.h>
#include <lockstep/nn/batch_norm.h>
#include <lockstep/nn/losses.h>
#include <lockstep/nn/registry.h>
#include <lockstep/optim/sgd.h>

namespace lockstep::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

struct Expectation {
  std::string name;
  std::int64_t parameters;  // as torchvision's pages list them
};

void PrintTo(const Expectation& expectation, std::ostream* stream) {
  *stream << expectation.name;
}

std::int64_t count_parameters(const Model& model) {
  std::int64_t count = 0;
  for (const auto& parameter : model.parameters()) count += parameter.numel();
  return count;
}

// A batch of samples in the model's own shape, but pictures no larger than they must be.
at::Tensor samples(const Model& model, std::int64_t count) {
  constexpr std::int64_t kSmallest = 64;
  std::vector<std::int64_t> shape = model.input_shape();
  for (std::int64_t& size : shape) size = size == 224 ? kSmallest : size;
  shape.insert(shape.begin(), count);
  return at::randn(shape);
}

at::Tensor in_bfloat16(Model& model, const at::Tensor& input) {
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  at::autocast::increment_nesting();
  at::Tensor output = model.forward(input);
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCPU, false);
  return output;
}

void make_channels_last(Model& model) {
  for (const at::Tensor& parameter : model.parameters()) {
    if (parameter.dim() == 4) parameter.set_data(parameter.contiguous(at::MemoryFormat::ChannelsLast));
  }
}

// How far two tensors are apart, as a part of the largest value.
double difference(const at::Tensor& one, const at::Tensor& other) {
  return ((one - other).abs().max() / other.abs().max()).item<double>();
}

class EveryModel : public ::testing::TestWithParam<Expectation> {};

// In one test, because the largest take seconds to make.
TEST_P(EveryModel, HasTheKnownSizeAndComputesTheSameInEachLayoutAndPrecisionAndLearns) {
  torch::manual_seed(3);
  const auto model = make_model(GetParam().name);
  ASSERT_EQ(count_parameters(*model), GetParam().parameters);

  const at::Tensor input = samples(*model, 2), labels = at::arange(2);
  model->eval();
  {
    const at::NoGradGuard no_gradients;
    const at::Tensor output = model->forward(input);
    EXPECT_THAT(output.sizes(), ElementsAre(2, model->num_classes()));
    const at::Tensor half = in_bfloat16(*model, input);
    EXPECT_EQ(half.scalar_type(), at::kBFloat16);
    EXPECT_LT(difference(half.to(at::kFloat), output), 0.1);  // 8 bits, rounded in each layer
    if (input.dim() == 4) {
      make_channels_last(*model);
      const at::Tensor other_layout = model->forward(input.contiguous(at::MemoryFormat::ChannelsLast));
      EXPECT_LT(difference(other_layout, output), 1e-4);  // sums in another order
    }
  }

  // Without dropout, but with the batch's own statistics.
  for (const auto& module : model->modules()) module->train(module->as<BatchNormImpl>() != nullptr);
  optim::Sgd optimizer(model->parameters(), torch::optim::SGDOptions(1e-3));
  const at::Tensor before = cross_entropy(model->forward(input), labels);
  before.backward();
  for (const auto& parameter : model->named_parameters()) {
    EXPECT_TRUE(parameter->grad().defined() && parameter->grad().isfinite().all().item<bool>()) << parameter.key();
  }
  optimizer.step();
  EXPECT_LT(cross_entropy(model->forward(input), labels).item<double>(), before.item<double>());
}

INSTANTIATE_TEST_SUITE_P(
    Models, EveryModel,
    ::testing::Values(Expectation{"resnet18", 11'689'512}, Expectation{"resnet34", 21'797'672},
                      Expectation{"resnet50", 25'557'032}, Expectation{"resnet101", 44'549'160},
                      Expectation{"resnet152", 60'192'808}, Expectation{"wide_resnet50_2", 68'883'240},
                      Expectation{"wide_resnet101_2", 126'886'696}, Expectation{"resnext50_32x4d", 25'028'904},
                      Expectation{"resnext101_32x8d", 88'791'336}, Expectation{"resnext101_64x4d", 83'455'272},
                      Expectation{"alexnet", 61'100'840}, Expectation{"vgg11", 132'863'336},
                      Expectation{"vgg11_bn", 132'868'840}, Expectation{"vgg13", 133'047'848},
                      Expectation{"vgg13_bn", 133'053'736}, Expectation{"vgg16", 138'357'544},
                      Expectation{"vgg16_bn", 138'365'992}, Expectation{"vgg19", 143'667'240},
                      Expectation{"vgg19_bn", 143'678'248}, Expectation{"mnist", 1'199'882},
                      Expectation{"lenet", 80'202}, Expectation{"lstm", 3'467'364}, Expectation{"conv3d", 295'508},
                      Expectation{"airbench", 9'928'608}, Expectation{"transformer", 3'226'468}),
    [](const auto& model) { return model.param.name; });

TEST(ResNet, HasStemsForSmallPictures) {
  for (const Stem stem : {Stem::kCifar, Stem::kCifar3x3}) {
    for (const auto* name : {"resnet18", "resnet50", "resnext50_32x4d"}) {
      const auto model = make_model(name, {.num_classes = 7, .stem = stem});
      const at::Tensor output = model->forward(samples(*model, 2));
      EXPECT_THAT(output.sizes(), ElementsAre(2, 7)) << name;
      output.sum().backward();
      EXPECT_TRUE(model->parameters().front().grad().isfinite().all().item<bool>()) << name;
    }
  }
}

TEST(ResNet, CanBeginAsItsShortcuts) {
  const auto model = make_model("resnet50", {.stem = Stem::kCifar3x3, .zero_init_residual = true});
  for (const auto& parameter : model->named_parameters()) {
    const bool is_last = parameter.key().find("bn3.weight") != std::string::npos;
    if (!is_last && parameter.key().find("bn2.weight") == std::string::npos) continue;
    EXPECT_TRUE(parameter->eq(is_last ? 0 : 1).all().item<bool>()) << parameter.key();
  }
  EXPECT_THAT([] { make_model("vgg11", {.zero_init_residual = true}); },
              ThrowsMessage<UsageError>(HasSubstr("no residual blocks")));
}

TEST(Airbench, PassesOnAsManyChannelsAsComeIn) {
  const auto model = make_model("airbench");
  const auto parameters = model->named_parameters();
  for (const auto* name : {"group1.conv1.weight", "group2.conv1.weight", "group3.conv3.weight"}) {
    const at::Tensor weight = parameters[name];
    const at::Tensor first = weight.slice(0, 0, weight.size(1)), rest = weight.slice(0, weight.size(1));
    EXPECT_TRUE(first.select(3, 1).select(2, 1).equal(at::eye(weight.size(1)))) << name;
    EXPECT_EQ(first.sum().item<double>(), double(weight.size(1))) << name;
    EXPECT_EQ(rest.eq(0).sum().item<std::int64_t>(), 0) << name;
  }
}

TEST(Transformer, TakesShorterSequencesAndRefusesLongerOnes) {
  const auto model = make_model("transformer", {.num_classes = 5, .input_channels = 16});
  EXPECT_THAT(model->forward(at::randn({2, 20, 16})).sizes(), ElementsAre(2, 5));
  EXPECT_THAT(
      [&] {
        model->forward(at::randn({2, 33, 16}));
      },
      ThrowsMessage<UsageError>(HasSubstr("at most 32 steps")));
}

TEST(Transformer, DoesNotTakeTheOrderOfStepsForNothing) {
  const auto model = make_model("transformer");
  const at::Tensor input = samples(*model, 1);
  EXPECT_GT(difference(model->forward(input.flip(1)), model->forward(input)), 1e-3);
}

TEST(ResNet, TakesOtherNumbersOfChannels) {
  const auto model = make_model("resnet18", {.input_channels = 1, .stem = Stem::kCifar3x3});
  EXPECT_THAT(model->input_shape(), ElementsAre(1, 32, 32));
  EXPECT_THAT(model->forward(samples(*model, 3)).sizes(), ElementsAre(3, 100));
}

TEST(ResNet, NamesItsParametersAsTorchvisionDoes) {
  const auto model = make_model("resnet18");
  const auto parameters = model->named_parameters();
  EXPECT_THAT(parameters.keys(), SizeIs(62));
  for (const auto* name : {"conv1.weight", "bn1.bias", "layer1.0.conv1.weight", "layer2.0.downsample.0.weight",
                           "layer2.0.downsample.1.bias", "layer4.1.bn2.weight", "fc.bias"}) {
    EXPECT_TRUE(parameters.contains(name)) << name;
  }
  EXPECT_TRUE(model->named_buffers().contains("layer3.1.bn1.num_batches_tracked"));
}

}  // namespace
}  // namespace lockstep::nn
