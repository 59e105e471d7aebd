// Optimizers by name, and the groups of a model's parameters.
#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/base/errors.h>
#include <lockstep/nn/registry.h>
#include <lockstep/optim/adam.h>
#include <lockstep/optim/lamb.h>
#include <lockstep/optim/lars.h>
#include <lockstep/optim/make_optimizer.h>
#include <lockstep/optim/sgd.h>

#include "throws_with.h"

namespace lockstep::test {
namespace {

using optim::make_optimizer;
using optim::OptimizerOptions;
using optim::parameter_groups;
using optim::ParameterGroup;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<ParameterGroup> one_group() {
  return {{.name = "all", .parameter_names = {"weight"}, .parameters = {torch::ones({2}, torch::requires_grad())}}};
}

TEST(MakeOptimizer, MakesEachByItsName) {
  const auto groups = one_group();
  EXPECT_TRUE(dynamic_cast<optim::Sgd*>(make_optimizer("sgd", groups).get()));
  EXPECT_TRUE(dynamic_cast<optim::Adam*>(make_optimizer("adam", groups).get()));
  EXPECT_TRUE(dynamic_cast<optim::AdamW*>(make_optimizer("adamw", groups).get()));
  EXPECT_TRUE(dynamic_cast<optim::Lars*>(make_optimizer("lars", groups).get()));
  EXPECT_TRUE(dynamic_cast<optim::Lamb*>(make_optimizer("lamb", groups).get()));
  EXPECT_THAT(optim::optimizer_names(), ElementsAre("sgd", "adam", "adamw", "lars", "lamb"));
}

TEST(MakeOptimizer, TakesTheOptionsThatAreGivenAndPythonsForTheRest) {
  const auto made = make_optimizer("adam", one_group(), {.betas = {{0.8, 0.99}}, .amsgrad = true});
  const auto& options = static_cast<torch::optim::AdamOptions&>(made->param_groups()[0].options());
  EXPECT_EQ(options.lr(), 1e-3);
  EXPECT_EQ(options.betas(), std::make_tuple(0.8, 0.99));
  EXPECT_EQ(options.eps(), 1e-8);
  EXPECT_TRUE(options.amsgrad());
  EXPECT_EQ(make_optimizer("sgd", one_group())->param_groups()[0].options().get_lr(), 1e-3);
}

TEST(MakeOptimizer, AGroupHasItsOwnRateAndDecay) {
  auto groups = one_group();
  groups.push_back({.name = "head",
                    .parameter_names = {"head"},
                    .parameters = {torch::ones({2}, torch::requires_grad())},
                    .lr = 0.5,
                    .weight_decay = 0});
  const auto made = make_optimizer("sgd", groups, {.lr = 0.1, .weight_decay = 0.01, .momentum = 0.9});
  const auto options = [&](int i) {
    return static_cast<torch::optim::SGDOptions&>(made->param_groups()[static_cast<std::size_t>(i)].options());
  };
  EXPECT_EQ(options(0).lr(), 0.1);
  EXPECT_EQ(options(0).weight_decay(), 0.01);
  EXPECT_EQ(options(1).lr(), 0.5);
  EXPECT_EQ(options(1).weight_decay(), 0);
  EXPECT_EQ(options(1).momentum(), 0.9);
}

TEST(MakeOptimizer, RefusesInWords) {
  const auto make = [](const char* name, const OptimizerOptions& options) {
    return [=] { make_optimizer(name, one_group(), options); };
  };
  EXPECT_THAT(make("addam", {}), ThrowsWith<UsageError>("did you mean 'adam'?"));
  EXPECT_THAT(make("rmsprop", {}), ThrowsWith<UsageError>("sgd, adam, adamw, lars, lamb"));
  EXPECT_THAT(make("sgd", {.lr = -0.1}), ThrowsWith<UsageError>("'lr'"));
  EXPECT_THAT(make("sgd", {.lr = std::numeric_limits<double>::quiet_NaN()}), ThrowsWith<UsageError>("'lr'"));
  EXPECT_THAT(make("sgd", {.momentum = -1}), ThrowsWith<UsageError>("'momentum'"));
  EXPECT_THAT(make("sgd", {.nesterov = true}), ThrowsWith<UsageError>("'nesterov'"));
  EXPECT_THAT(make("sgd", {.momentum = 0.9, .dampening = 0.1, .nesterov = true}), ThrowsWith<UsageError>("'nesterov'"));
  EXPECT_THAT(make("adam", {.betas = {{0.9, 1.0}}}), ThrowsWith<UsageError>("'betas'"));
  EXPECT_THAT(make("adam", {.weight_decay = -1}), ThrowsWith<UsageError>("'weight_decay'"));
  EXPECT_THAT(make("adam", {.momentum = 0.9}), ThrowsWith<UsageError>("'adam' has no option 'momentum'"));
  EXPECT_THAT(make("lamb", {.trust_coefficient = 0.1}), ThrowsWith<UsageError>("'lamb' has no option"));
  EXPECT_THAT(make("lars", {.trust_coefficient = -1}), ThrowsWith<UsageError>("'trust_coefficient'"));
}

TEST(ParameterGroups, OfAResNetDecayConvolutionsAndTheLastMatrixAlone) {
  const auto model = nn::make_model("resnet18");
  const auto groups = parameter_groups(*model);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].name, "decay");
  EXPECT_FALSE(groups[0].weight_decay.has_value());
  EXPECT_EQ(groups[0].parameter_names.size(), 21U);
  EXPECT_EQ(groups[0].parameter_names.front(), "conv1.weight");
  EXPECT_EQ(groups[0].parameter_names.back(), "fc.weight");
  EXPECT_EQ(groups[1].name, "no_decay");
  EXPECT_EQ(groups[1].weight_decay, 0);
  EXPECT_EQ(groups[1].parameter_names.size(), 41U);
  const auto named = model->named_parameters();
  for (const auto& group : groups) {
    for (std::size_t i = 0; i < group.parameters.size(); ++i) {
      EXPECT_TRUE(group.parameters[i].is_same(named[group.parameter_names[i]]));
    }
  }
}

struct OddNet : torch::nn::Module {
  OddNet() {
    register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({3, 4})));
    register_module("first", torch::nn::Linear(4, 4));
    register_parameter("bias", torch::ones({2, 2}));
    register_parameter("scale", torch::ones({}));
    shared = register_parameter("shared", torch::ones({2, 2}));
    register_parameter("again", shared);
    register_parameter("frozen", torch::ones({2, 2}), /*requires_grad=*/false);
  }
  torch::Tensor shared;
};

TEST(ParameterGroups, GoByWhatAParameterIs) {
  const auto groups = parameter_groups(OddNet());
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_THAT(groups[0].parameter_names, ElementsAre("shared", "first.weight"));
  EXPECT_THAT(groups[1].parameter_names, ElementsAre("bias", "scale", "norm.weight", "norm.bias", "first.bias"));
}

TEST(ParameterGroups, MayBeOne) {
  const auto groups = parameter_groups(OddNet(), {.decay_norms_and_biases = true});
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].parameters.size(), 7U);
}

TEST(ParameterGroups, OfAFrozenModelAreRefused) {
  torch::nn::Linear model(2, 2);
  for (auto& parameter : model->parameters()) parameter.requires_grad_(false);
  EXPECT_THAT([&] { parameter_groups(*model); }, ThrowsWith<UsageError>("no parameter to optimize"));
}

}  // namespace
}  // namespace lockstep::test
