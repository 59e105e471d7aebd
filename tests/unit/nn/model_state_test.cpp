#include <lockstep/nn/model_state.h>

#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/base/errors.h>
#include <lockstep/nn/registry.h>

namespace lockstep::nn {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A copy that shares nothing with the model.
NamedState copied_state(const Model& model) {
  NamedState state = state_of_model(model);
  for (auto& [name, tensor] : state) tensor = tensor.clone();
  return state;
}

std::string refusal(Model& model, const NamedState& state, const LoadStateOptions& options = {}) {
  const NamedState before = copied_state(model);
  try {
    load_state(model, state, options);
  } catch (const UsageError& error) {
    const NamedState after = state_of_model(model);
    for (std::size_t i = 0; i < after.size(); ++i) EXPECT_TRUE(after[i].second.equal(before[i].second));
    return error.what();
  }
  return "";
}

const ModelOptions kSmall{.num_classes = 10, .stem = Stem::kCifar3x3};

TEST(ModelState, GoesIntoAnotherModelThatThenComputesTheSame) {
  const auto one = make_model("resnet18", kSmall), other = make_model("resnet18", kSmall);
  const at::Tensor input = torch::randn({2, 3, 32, 32});
  one->forward(input);  // moves the running statistics
  load_state(*other, state_of_model(*one));
  one->eval(), other->eval();
  EXPECT_TRUE(one->forward(input).equal(other->forward(input)));
  EXPECT_TRUE(other->parameters().front().requires_grad());
  EXPECT_FALSE(other->parameters().front().is_alias_of(one->parameters().front()));
}

TEST(ModelState, KeepsTheModelsType) {
  const auto model = make_model("mnist");
  model->to(at::kBFloat16);
  load_state(*model, state_of_model(*make_model("mnist")));
  EXPECT_EQ(model->parameters().front().scalar_type(), at::kBFloat16);
}

TEST(ModelState, NamesWhatIsMissingAndWhatIsUnexpected) {
  const auto model = make_model("mnist");
  NamedState state = copied_state(*model);
  state[0].first = "conv1.wieght";
  EXPECT_THAT(refusal(*model, state),
              AllOf(HasSubstr("missing are conv1.weight"), HasSubstr("unexpected are conv1.wieght"),
                    HasSubstr("did you mean 'conv1.weight'?")));
  const LoadedState left_out = load_state(*model, state, {.strict = false});
  EXPECT_THAT(left_out.missing, ElementsAre("conv1.weight"));
  EXPECT_THAT(left_out.unexpected, ElementsAre("conv1.wieght"));
}

TEST(ModelState, KnowsTheNamesOfAWrappedModel) {
  const auto model = make_model("mnist");
  NamedState state = copied_state(*model);
  for (auto& [name, tensor] : state) name = "module." + name;
  EXPECT_THAT(refusal(*model, state), HasSubstr("'module.'"));
}

TEST(ModelState, NamesTensorsOfAnotherShape) {
  const auto model = make_model("mnist");
  NamedState state = copied_state(*model);
  state[2].second = torch::zeros({64, 16, 3, 3});
  for (const bool strict : {true, false}) {
    EXPECT_THAT(refusal(*model, state, {.strict = strict}),
                HasSubstr("'conv2.weight' [64, 16, 3, 3], in the model [64, 32, 3, 3]"));
  }
}

TEST(ModelState, SaysWhenOnlyTheNumberOfClassesDiffers) {
  for (const auto& [name, classifier] :
       {std::pair{"resnet18", "fc"}, std::pair{"mnist", "fc2"}, std::pair{"lstm", "fc"}}) {
    const auto model = make_model(name, {.num_classes = 7});
    const NamedState state = copied_state(*make_model(name, {.num_classes = 9}));
    EXPECT_EQ(classifier_of(*model), classifier + std::string("."));
    EXPECT_THAT(refusal(*model, state),
                AllOf(HasSubstr("the weights have 9 classes, the model has 7"), HasSubstr("num_classes 9"),
                      HasSubstr(std::string("'") + classifier + "'")));
  }
}

TEST(ModelState, LeavesTheClassifierAsItIsForFineTuning) {
  const auto model = make_model("mnist", {.num_classes = 7});
  const NamedState before = copied_state(*model), given = copied_state(*make_model("mnist"));
  load_state(*model, given, {.skip_classifier = true});
  const NamedState after = state_of_model(*model);
  for (std::size_t i = 0; i < after.size(); ++i) {
    const bool classifier = after[i].first.starts_with("fc2.");
    EXPECT_TRUE(after[i].second.equal((classifier ? before : given)[i].second)) << after[i].first;
  }
}

}  // namespace
}  // namespace lockstep::nn
