// What all of our optimizers do alike.
#include <limits>
#include <sstream>

#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/optim/device_step.h>
#include <lockstep/optim/make_optimizer.h>
#include <lockstep/optim/named_state.h>

#include "parameters.h"

namespace lockstep::test {
namespace {

using optim::DeviceStep;
using Made = std::unique_ptr<torch::optim::Optimizer>;

struct Case {
  std::string name, optimizer;
  optim::OptimizerOptions options;
};

class EveryOptimizer : public ::testing::TestWithParam<Case> {
 protected:
  static Made make(const std::vector<torch::Tensor>& parameters) {
    return make_optimizer(GetParam().optimizer, {{.name = "all", .parameter_names = {}, .parameters = parameters}},
                          GetParam().options);
  }
  static DeviceStep& device_step(const Made& optimizer) { return dynamic_cast<DeviceStep&>(*optimizer); }

  static std::vector<torch::Tensor> parameters() { return make_parameters(/*with_complex=*/false); }

  static void step(const Made& optimizer, const std::vector<torch::Tensor>& parameters, int step, double scale = 1) {
    set_gradients(parameters, step, scale);
    optimizer->step();
  }

  static void spoil_gradients(const std::vector<torch::Tensor>& parameters) {
    set_gradients(parameters, 0);
    parameters[0].grad().fill_(std::numeric_limits<float>::quiet_NaN());
    parameters[1].grad()[2] = std::numeric_limits<double>::infinity();
  }

  // All that it remembers, as copies.
  static std::map<std::string, torch::Tensor> state(const Made& optimizer, const std::vector<torch::Tensor>& of) {
    auto tensors = optim::named_state(*optimizer, numbered(of)).tensors;
    for (auto& [name, tensor] : tensors) tensor = tensor.clone();
    return tensors;
  }
};

TEST_P(EveryOptimizer, TakesAnyLayout) {
  auto any = parameters(), plain = copies_of(any);
  for (auto& parameter : plain) parameter = parameter.contiguous().requires_grad_(true);
  const auto of_any = make(any), of_plain = make(plain);
  for (int i = 0; i < 6; ++i) {
    step(of_any, any, i);
    step(of_plain, plain, i);
  }
  EXPECT_LT(largest_difference(any, plain), 1e-6);
  EXPECT_GT(largest_difference(any, parameters()), 1e-3);
}

TEST_P(EveryOptimizer, TwoRunsAreBitEqual) {
  const auto run = [] {
    auto of_run = parameters();
    const auto optimizer = make(of_run);
    for (int i = 0; i < 5; ++i) step(optimizer, of_run, i);
    return copies_of(of_run);
  };
  EXPECT_TRUE(all_equal(run(), run()));
}

TEST_P(EveryOptimizer, WithoutGradientsDoesNothing) {
  const auto parameter = torch::ones({3}, torch::requires_grad());
  const auto optimizer = make({parameter});
  optimizer->step();
  EXPECT_TRUE(parameter.equal(torch::ones({3})));
  EXPECT_THAT(state(optimizer, {parameter}), ::testing::IsEmpty());
}

TEST_P(EveryOptimizer, ASparseGradientCountsAsDense) {
  const auto sparse = torch::ones({4, 2}, torch::requires_grad()), dense = torch::ones({4, 2}, torch::requires_grad());
  const auto of_sparse = make({sparse}), of_dense = make({dense});
  for (int i = 0; i < 2; ++i) {
    dense.mutable_grad() = torch::tensor({{0.0F, 0.0F}, {2.0F, 1.0F}, {0.0F, 0.0F}, {3.0F, 0.0F}});
    sparse.mutable_grad() = dense.grad().to_sparse();
    of_sparse->step();
    of_dense->step();
  }
  EXPECT_TRUE(sparse.equal(dense));
  EXPECT_FALSE(sparse.equal(torch::ones({4, 2})));
}

TEST_P(EveryOptimizer, ASkippedStepChangesNothing) {
  const auto skipping = parameters(), straight = parameters();
  const auto of_skipping = make(skipping), of_straight = make(straight);
  // Two ranks have found one each.
  const auto found_inf = torch::zeros({1}), scale = torch::full({1}, 4.0F);
  device_step(of_skipping).set_gradient_scale(scale, found_inf);
  for (int i = 0; i < 6; ++i) {
    const auto before = copies_of(skipping);
    const auto state_before = state(of_skipping, skipping);
    found_inf.fill_(2);
    spoil_gradients(skipping);
    of_skipping->step();
    ASSERT_TRUE(all_equal(copies_of(skipping), before)) << "step " << i;
    for (const auto& [name, tensor] : state_before) {
      EXPECT_TRUE(tensor.equal(state(of_skipping, skipping).at(name))) << name << ", step " << i;
    }
    found_inf.zero_();
    step(of_skipping, skipping, i, /*scale=*/4);
    step(of_straight, straight, i);
    EXPECT_LT(largest_difference(skipping, straight), 1e-6) << "step " << i;
  }
}

TEST_P(EveryOptimizer, DividesGradientsByAScaleUntilItIsTakenAway) {
  const auto scaled = parameters(), plain = parameters();
  const auto of_scaled = make(scaled), of_plain = make(plain);
  const auto scale = torch::full({}, 8.0F);
  device_step(of_scaled).set_gradient_scale(scale, {});
  step(of_scaled, scaled, 0, 8);
  scale.fill_(2);
  step(of_scaled, scaled, 2, 2);
  device_step(of_scaled).set_gradient_scale({}, {});
  step(of_scaled, scaled, 3);
  for (const int i : {0, 2, 3}) step(of_plain, plain, i);
  EXPECT_LT(largest_difference(scaled, plain), 1e-6);
}

TEST_P(EveryOptimizer, AClosureIsCalledWithGradients) {
  const auto weight = torch::ones({1}, torch::requires_grad());
  const auto optimizer = make({weight});
  const torch::NoGradGuard no_gradients;
  const auto loss = optimizer->step([&] {
    const auto value = (weight * weight).sum();
    value.backward();
    return value;
  });
  EXPECT_EQ(loss.item<double>(), 1);
  EXPECT_LT(weight.item<double>(), 1);
}

TEST_P(EveryOptimizer, CountsItsChanges) {
  for (const auto& parameter : {torch::ones({3}), torch::ones({3, 4}).slice(1, 0, 2)}) {
    parameter.requires_grad_(true);
    parameter.mutable_grad() = torch::ones_like(parameter);
    const auto optimizer = make({parameter});
    const auto before = parameter._version();
    optimizer->step();
    EXPECT_GT(parameter._version(), before);
  }
}

TEST_P(EveryOptimizer, GoesOnFromItsFile) {
  const auto first = parameters(), second = parameters();
  const auto straight = make(first);
  const auto saved = make(second);
  for (int i = 0; i < 3; ++i) {
    step(straight, first, i);
    step(saved, second, i);
  }
  std::stringstream file;
  torch::save(*saved, file);
  const auto loaded = make(second);
  loaded->param_groups()[0].options().set_lr(0.7);
  torch::load(*loaded, file);
  for (int i = 3; i < 6; ++i) {
    step(straight, first, i);
    step(loaded, second, i);
  }
  EXPECT_TRUE(all_equal(copies_of(first), copies_of(second)));
}

TEST_P(EveryOptimizer, CopiesOfItsStateAreLikeIt) {  // as ZeroRedundancyOptimizer moves it
  const auto first = parameters(), second = parameters();
  const auto from = make(first), to = make(second);
  for (int i = 0; i < 3; ++i) step(from, first, i);
  for (std::size_t i = 0; i < first.size(); ++i) {
    second[i].data().copy_(first[i].data());
    const auto found = from->state().find(first[i].unsafeGetTensorImpl());
    if (found != from->state().end()) to->state()[second[i].unsafeGetTensorImpl()] = found->second->clone();
  }
  const auto expected = state(from, first);
  EXPECT_EQ(expected.size(), state(to, second).size());
  for (const auto& [name, tensor] : state(to, second)) EXPECT_TRUE(tensor.equal(expected.at(name))) << name;
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryOptimizer,
    ::testing::Values(Case{"sgd", "sgd", {.lr = 0.1}}, Case{"momentum", "sgd", {.lr = 0.1, .momentum = 0.9}},
                      Case{"dampening", "sgd", {.lr = 0.1, .momentum = 0.9, .dampening = 0.5}},
                      Case{"nesterov", "sgd", {.lr = 0.1, .weight_decay = 0.1, .momentum = 0.9, .nesterov = true}},
                      Case{"adam", "adam", {.lr = 0.05, .weight_decay = 0.1}},
                      Case{"adam_amsgrad", "adam", {.lr = 0.05, .amsgrad = true}}, Case{"adamw", "adamw", {.lr = 0.05}},
                      Case{"lars", "lars", {.lr = 5.0, .weight_decay = 0.1}},
                      Case{"lars_without_momentum", "lars", {.lr = 5.0, .weight_decay = 0.1, .momentum = 0.0}},
                      Case{"lars_without_decay", "lars", {.lr = 0.05}},
                      Case{"lamb", "lamb", {.lr = 0.05, .weight_decay = 0.1}},
                      Case{"lamb_without_decay", "lamb", {.lr = 0.05, .weight_decay = 0.0}}),
    [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace lockstep::test
