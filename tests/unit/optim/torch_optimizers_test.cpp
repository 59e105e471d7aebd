// Our SGD, Adam and AdamW beside libtorch's.
#include <functional>
#include <memory>
#include <sstream>

#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/optim/adam.h>
#include <lockstep/optim/sgd.h>

#include "parameters.h"

namespace lockstep::test {
namespace {

using torch::optim::AdamOptions;
using torch::optim::AdamWOptions;
using torch::optim::Optimizer;
using torch::optim::OptimizerParamGroup;
using torch::optim::SGDOptions;
using Groups = std::vector<OptimizerParamGroup>;

// An optimizer of ours and libtorch's with the same options.
struct Case {
  std::string name;
  std::function<std::unique_ptr<Optimizer>(const Groups&)> ours, theirs;
  std::unique_ptr<torch::optim::OptimizerOptions> (*other_options)();  // for a second group
};

template <typename Ours, typename Theirs, typename Options>
Case make_case(std::string name, Options options) {
  return {std::move(name), [=](const Groups& groups) { return std::make_unique<Ours>(groups, options); },
          [=](const Groups& groups) { return std::make_unique<Theirs>(groups, options); },
          []() -> std::unique_ptr<torch::optim::OptimizerOptions> {
            return std::make_unique<Options>(Options(0.05).weight_decay(0.2));
          }};
}
const auto make_sgd = make_case<optim::Sgd, torch::optim::SGD, SGDOptions>;
const auto make_adam = make_case<optim::Adam, torch::optim::Adam, AdamOptions>;
const auto make_adamw = make_case<optim::AdamW, torch::optim::AdamW, AdamWOptions>;

class BesideLibtorch : public ::testing::TestWithParam<Case> {
 protected:
  static bool takes_complex() { return GetParam().name.starts_with("sgd"); }  // libtorch's Adam squares them
  std::vector<torch::Tensor> ours_ = make_parameters(takes_complex()), theirs_ = make_parameters(takes_complex());

  static void step(Optimizer& optimizer, const std::vector<torch::Tensor>& parameters, int step) {
    set_gradients(parameters, step);
    optimizer.step();
  }
};

// Some steps of float32 from 1, in which each element moves by 0.1 or so.
constexpr double kTolerance = 2e-6;

TEST_P(BesideLibtorch, Steps) {
  const auto ours = GetParam().ours({ours_}), theirs = GetParam().theirs({theirs_});
  for (int i = 0; i < 10; ++i) {
    step(*ours, ours_, i);
    step(*theirs, theirs_, i);
    EXPECT_LT(largest_difference(ours_, theirs_), kTolerance) << "step " << i;
  }
  EXPECT_GT(largest_difference(ours_, make_parameters(takes_complex())), 1e-2);
}

TEST_P(BesideLibtorch, GroupsHaveTheirOwnOptions) {
  const auto groups = [](const std::vector<torch::Tensor>& parameters) {
    Groups result;
    result.emplace_back(std::vector(parameters.begin(), parameters.begin() + 3));
    result.emplace_back(std::vector(parameters.begin() + 3, parameters.end()), GetParam().other_options());
    return result;
  };
  const auto ours = GetParam().ours(groups(ours_)), theirs = GetParam().theirs(groups(theirs_));
  for (int i = 0; i < 4; ++i) {
    step(*ours, ours_, i);
    step(*theirs, theirs_, i);
  }
  EXPECT_LT(largest_difference(ours_, theirs_), kTolerance);
}

TEST_P(BesideLibtorch, FilesGoBothWays) {
  const auto ours = GetParam().ours({ours_}), theirs = GetParam().theirs({theirs_});
  ours->param_groups()[0].options().set_lr(0.07);
  for (int i = 0; i < 3; ++i) step(*ours, ours_, i);
  std::stringstream file;
  torch::save(*ours, file);
  torch::load(*theirs, file);
  EXPECT_EQ(theirs->param_groups()[0].options().get_lr(), 0.07);
  for (std::size_t i = 0; i < ours_.size(); ++i) theirs_[i].data().copy_(ours_[i].data());
  step(*ours, ours_, 4);
  step(*theirs, theirs_, 4);
  EXPECT_LT(largest_difference(ours_, theirs_), kTolerance);

  std::stringstream back;
  torch::save(*theirs, back);
  const auto again = GetParam().ours({ours_});
  torch::load(*again, back);
  for (int i = 5; i < 8; ++i) {
    step(*again, ours_, i);
    step(*theirs, theirs_, i);
  }
  EXPECT_LT(largest_difference(ours_, theirs_), kTolerance);
}

TEST_P(BesideLibtorch, SixteenBitParametersAreRoundedOnce) {
  const auto make = [] { return torch::ones({100}, torch::kBFloat16).requires_grad_(true); };
  const auto ours = make(), theirs = make().to(torch::kFloat).detach().requires_grad_(true);
  const auto our_optimizer = GetParam().ours({std::vector{ours}}),
             their_optimizer = GetParam().theirs({std::vector{theirs}});
  torch::manual_seed(3);
  const auto gradient = torch::randn({100}).to(torch::kBFloat16);
  ours.mutable_grad() = gradient;
  theirs.mutable_grad() = gradient.to(torch::kFloat);
  our_optimizer->step();
  their_optimizer->step();
  EXPECT_LT((ours - theirs).abs().max().item<double>(), 1.0 / 128);  // of a bfloat16 just above 1
  EXPECT_GT((ours - 1).abs().max().item<double>(), 0.01);
}

INSTANTIATE_TEST_SUITE_P(
    Every, BesideLibtorch,
    ::testing::Values(make_sgd("sgd", SGDOptions(0.1)), make_sgd("sgd_decay", SGDOptions(0.1).weight_decay(0.01)),
                      make_sgd("sgd_momentum", SGDOptions(0.1).momentum(0.9)),
                      make_sgd("sgd_dampening", SGDOptions(0.1).momentum(0.9).dampening(0.3)),
                      make_sgd("sgd_nesterov", SGDOptions(0.1).momentum(0.9).weight_decay(0.01).nesterov(true)),
                      make_adam("adam", AdamOptions(0.05)),
                      make_adam("adam_decay", AdamOptions(0.05).betas({0.8, 0.95}).weight_decay(0.1)),
                      make_adam("adam_amsgrad", AdamOptions(0.05).amsgrad(true)),
                      make_adamw("adamw", AdamWOptions(0.05).weight_decay(0.1)),
                      make_adamw("adamw_amsgrad", AdamWOptions(0.05).amsgrad(true))),
    [](const auto& each) { return each.param.name; });

TEST(Adam, CountsTheStepsOfEachParameter) {
  auto parameters = make_parameters(false);
  optim::Adam adam(parameters, AdamOptions(0.1));
  for (int i = 0; i < 4; ++i) {
    set_gradients(parameters, i);
    adam.step();
  }
  std::stringstream file;
  torch::save(adam, file);
  torch::optim::Adam loaded(parameters, AdamOptions(0.1));
  torch::load(loaded, file);
  const auto steps = [&](std::size_t i) {
    return static_cast<torch::optim::AdamParamState&>(*loaded.state().at(parameters[i].unsafeGetTensorImpl())).step();
  };
  EXPECT_EQ(steps(0), 3);  // it had no gradient once
  EXPECT_EQ(steps(1), 4);
}

// Python's Adam takes a complex parameter for two real ones.
TEST(Adam, AComplexParameterIsTwoRealOnes) {
  const auto pair = torch::randn({3, 2}, torch::kDouble);
  const auto whole = torch::view_as_complex(pair.clone()).requires_grad_(true), two = pair.clone().requires_grad_(true);
  optim::Adam of_whole({whole}, AdamOptions(0.1)), of_two({two}, AdamOptions(0.1));
  for (int i = 0; i < 3; ++i) {
    two.mutable_grad() = torch::randn({3, 2}, torch::kDouble);
    whole.mutable_grad() = torch::view_as_complex(two.grad()).conj().resolve_conj().conj();  // a view with the bit set
    of_whole.step();
    of_two.step();
  }
  EXPECT_TRUE(torch::view_as_real(whole.detach()).equal(two.detach()));
}

}  // namespace
}  // namespace lockstep::test
