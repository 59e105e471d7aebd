#include <lockstep/nn/registry.h>

#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/nn/batch_norm.h>

namespace lockstep::nn {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Throws;
using ::testing::ThrowsMessage;

// A user's model: one parameter, which scales.
class Scale : public Model {
 public:
  explicit Scale(const ModelOptions& options) : Model({options.num_classes}, options.num_classes) {}
  at::Tensor forward(at::Tensor input) override { return input * factor; }
  at::Tensor factor = register_parameter("factor", at::randn({1}));
};

const bool registered =
    register_model("scale", [](const ModelOptions& options) { return std::make_shared<Scale>(options); });

TEST(Registry, TakesAModelOfTheUsersInOneLine) {
  ASSERT_TRUE(registered);
  EXPECT_THAT(model_names(), Contains("scale"));
  EXPECT_EQ(make_model("scale", {.num_classes = 3})->input_shape(), std::vector<std::int64_t>{3});
}

TEST(Registry, RefusesANameThatIsTaken) {
  EXPECT_THAT([] { register_model("resnet18", {}); }, ThrowsMessage<UsageError>(HasSubstr("already")));
}

TEST(Registry, OffersTheNearestNameForOneThatIsUnknown) {
  for (const auto& [name, meant] :
       {std::pair{"resnt50", "resnet50"}, std::pair{"resnet-50", "resnet50"}, std::pair{"ResNet50", "resnet50"},
        std::pair{"RESNET18", "resnet18"}, std::pair{"vgg16bn", "vgg16_bn"}, std::pair{"VGG19-BN", "vgg19_bn"},
        std::pair{"WideResNet50_2", "wide_resnet50_2"}, std::pair{"tranformer", "transformer"}}) {
    EXPECT_THAT([name = name] { make_model(name); },
                ThrowsMessage<UsageError>(HasSubstr(std::string("did you mean '") + meant + "'?")));
  }
  EXPECT_THAT([] { parse_stem("cifer"); }, ThrowsMessage<UsageError>(HasSubstr("did you mean 'cifar'?")));
}

TEST(Registry, RefusesOptionsThatDoNotFit) {
  EXPECT_THAT([] { make_model("mnist", {.num_classes = -1}); }, ThrowsMessage<UsageError>(HasSubstr("-1 classes")));
  EXPECT_THAT([] { make_model("alexnet", {.stem = Stem::kCifar}); }, ThrowsMessage<UsageError>(HasSubstr("no stem")));
  EXPECT_THAT(
      [] {
        make_model("mnist", {.input_shape = {1, 28, 28}});
      },
      ThrowsMessage<UsageError>(HasSubstr("an input shape of its own")));
}

TEST(Registry, ParsesTheStemsThatItNames) {
  EXPECT_EQ(parse_stem("imagenet"), Stem::kImagenet);
  EXPECT_EQ(parse_stem("cifar"), Stem::kCifar);
  EXPECT_EQ(parse_stem("cifar3x3"), Stem::kCifar3x3);
}

TEST(Model, ClonesToOneThatComputesTheSameAndSharesNothing) {
  for (const std::string name : {"resnet18", "lstm", "transformer"}) {
    const auto model = make_model(name);
    model->parameters().front().requires_grad_(false);
    model->eval();
    const auto copy = std::dynamic_pointer_cast<Model>(model->clone());
    const at::Tensor input = at::randn(model->input_shape()).unsqueeze(0);
    EXPECT_TRUE(at::equal(copy->forward(input), model->forward(input))) << name;
    EXPECT_FALSE(copy->parameters().front().requires_grad());
    for (std::size_t i = 0; i < model->parameters().size(); ++i) {
      EXPECT_FALSE(copy->parameters()[i].is_alias_of(model->parameters()[i])) << name;
    }
  }
}

TEST(Model, ClonesWithTheWayInWhichItNormalizes) {
  const auto model = make_model("resnet18");
  int calls = 0;
  for (const auto& module : model->modules()) {
    if (auto* norm = module->as<BatchNormImpl>()) {
      norm->set_normalizer([&calls](const at::Tensor& input, const BatchNormState&) {
        ++calls;
        return input.clone();
      });
    }
  }
  std::dynamic_pointer_cast<Model>(model->clone())->forward(at::randn({1, 3, 32, 32}));
  EXPECT_EQ(calls, 20);
}

TEST(Model, CannotBeClonedUnlessTheRegistryMadeIt) {
  const Scale scale({.num_classes = 1});
  EXPECT_THAT([&] { scale.clone(); }, Throws<UsageError>());
}

}  // namespace
}  // namespace lockstep::nn
