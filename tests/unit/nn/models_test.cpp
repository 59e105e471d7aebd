// Every model that comes with the library: its size, its output, its gradients.
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>

#include <lockstep/nn/registry.h>

namespace lockstep::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

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

// A batch of samples in the model's own shape.
at::Tensor samples(const Model& model, std::int64_t count) {
  std::vector<std::int64_t> shape = model.input_shape();
  shape.insert(shape.begin(), count);
  return at::randn(shape);
}

class EveryModel : public ::testing::TestWithParam<Expectation> {};

TEST_P(EveryModel, HasTheNumberOfParametersThatIsKnown) {
  EXPECT_EQ(count_parameters(*make_model(GetParam().name)), GetParam().parameters);
}

INSTANTIATE_TEST_SUITE_P(
    Models, EveryModel,
    ::testing::Values(Expectation{"resnet18", 11'689'512}, Expectation{"resnet34", 21'797'672},
                      Expectation{"resnet50", 25'557'032}, Expectation{"resnet101", 44'549'160},
                      Expectation{"resnet152", 60'192'808}, Expectation{"wide_resnet50_2", 68'883'240},
                      Expectation{"wide_resnet101_2", 126'886'696}, Expectation{"resnext50_32x4d", 25'028'904},
                      Expectation{"resnext101_32x8d", 88'791'336}, Expectation{"alexnet", 61'100'840},
                      Expectation{"vgg11", 132'863'336}, Expectation{"vgg11_bn", 132'868'840},
                      Expectation{"vgg13", 133'047'848}, Expectation{"vgg13_bn", 133'053'736},
                      Expectation{"vgg16", 138'357'544}, Expectation{"vgg16_bn", 138'365'992},
                      Expectation{"vgg19", 143'667'240}, Expectation{"vgg19_bn", 143'678'248},
                      Expectation{"mnist", 1'199'882}, Expectation{"lstm", 3'467'364}, Expectation{"conv3d", 295'508}),
    [](const auto& model) { return model.param.name; });

class TrainedModel : public ::testing::TestWithParam<std::pair<std::string, Stem>> {};

TEST_P(TrainedModel, MapsItsInputToClassesAndGivesEveryParameterAGradient) {
  const auto model = make_model(GetParam().first, {.num_classes = 7, .stem = GetParam().second});
  const at::Tensor output = model->forward(samples(*model, 2));
  EXPECT_THAT(output.sizes(), ElementsAre(2, 7));
  EXPECT_EQ(model->num_classes(), 7);
  output.square().sum().backward();
  for (const auto& parameter : model->named_parameters()) {
    EXPECT_TRUE(parameter->grad().defined() && parameter->grad().isfinite().all().item<bool>()) << parameter.key();
  }
}

INSTANTIATE_TEST_SUITE_P(Models, TrainedModel,
                         ::testing::Values(std::pair{"resnet18", Stem::kImagenet}, std::pair{"resnet18", Stem::kCifar},
                                           std::pair{"resnet50", Stem::kCifar3x3},
                                           std::pair{"resnext50_32x4d", Stem::kCifar3x3},
                                           std::pair{"alexnet", Stem::kImagenet},
                                           std::pair{"vgg11_bn", Stem::kImagenet}, std::pair{"mnist", Stem::kImagenet},
                                           std::pair{"lstm", Stem::kImagenet}, std::pair{"conv3d", Stem::kImagenet}));

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
