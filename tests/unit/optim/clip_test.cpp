#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/base/errors.h>
#include <lockstep/optim/clip.h>

#include "throws_with.h"

namespace lockstep::test {
namespace {

using optim::clip_grad_norm;
using optim::clip_grad_value;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

torch::Tensor with_gradient(const torch::Tensor& gradient) {
  const auto parameter = torch::zeros_like(gradient).requires_grad_(true);
  parameter.mutable_grad() = gradient.clone();
  return parameter;
}

// Of several types, and one without a gradient.
std::vector<torch::Tensor> mixed() {
  return {with_gradient(torch::tensor({3.0F, 0.0F})), with_gradient(torch::tensor({{4.0}, {0.0}}, torch::kDouble)),
          torch::ones({5}, torch::requires_grad()), with_gradient(torch::full({1}, 12, torch::kBFloat16))};
}

TEST(ClipGradNorm, BringsTheNormOfAllTypesDown) {
  const auto parameters = mixed();
  EXPECT_EQ(clip_grad_norm(parameters, 6.5).item<double>(), 13);
  EXPECT_NEAR(parameters[0].grad()[0].item<double>(), 1.5, 1e-6);
  EXPECT_NEAR(parameters[1].grad()[0][0].item<double>(), 2, 1e-6);
  EXPECT_FALSE(parameters[2].grad().defined());
  EXPECT_EQ(parameters[3].grad().item<double>(), 6);
}

TEST(ClipGradNorm, LeavesSmallerNormsAlone) {
  const auto parameters = mixed();
  EXPECT_EQ(clip_grad_norm(parameters, 13.5).item<double>(), 13);
  EXPECT_EQ(parameters[0].grad()[0].item<double>(), 3);
}

TEST(ClipGradNorm, KnowsOtherNorms) {
  EXPECT_EQ(clip_grad_norm(mixed(), 1, {.norm_type = 1}).item<double>(), 19);
  EXPECT_EQ(clip_grad_norm(mixed(), 1, {.norm_type = kInfinity}).item<double>(), 12);
  EXPECT_NEAR(clip_grad_norm(mixed(), 1, {.norm_type = 3}).item<double>(), std::cbrt(27 + 64 + 1728), 1e-5);
}

TEST(ClipGradNorm, OfNothingIsZero) {
  EXPECT_EQ(clip_grad_norm({}, 1).item<double>(), 0);
  EXPECT_EQ(clip_grad_norm({torch::ones({2}, torch::requires_grad())}, 1).item<double>(), 0);
}

TEST(ClipGradNorm, OfSixteenBitGradientsDoesNotOverflow) {
  const auto parameter = with_gradient(torch::full({10'000}, 1000, torch::kHalf));
  EXPECT_NEAR(clip_grad_norm({parameter}, 100).item<double>(), 100'000, 1);  // a sum in float32
  EXPECT_NEAR(parameter.grad()[0].item<double>(), 1, 1e-3);
}

// In bf16 0.6 is 0.6016, and 0.997 is 0.9961.
TEST(ClipGradNorm, TheFactorIsNotRoundedToSixteenBits) {
  for (const double max_norm : {0.6, 0.997}) {
    const auto wide = with_gradient(torch::tensor({1.0F, 0.0F}));
    const auto low = with_gradient(torch::arange(1, 200).to(torch::kBFloat16).mul_(0x1p-60));
    const auto expected = low.grad().to(torch::kFloat).mul_(max_norm / (1 + 1e-6)).to(torch::kBFloat16);
    clip_grad_norm({wide, low}, max_norm);
    EXPECT_TRUE(low.grad().equal(expected));
  }
}

TEST(ClipGradNorm, AParameterOfSeveralNamesCountsOnce) {
  const auto tied = with_gradient(torch::tensor({3.0F, 4.0F}));
  EXPECT_EQ(clip_grad_norm({tied, tied}, 2.5).item<double>(), 5);
  EXPECT_NEAR(tied.grad()[0].item<double>(), 1.5, 1e-6);
}

TEST(ClipGradNorm, ANormThatIsNotFiniteIsRefusedWhereAsked) {
  const auto parameter = with_gradient(torch::tensor({1.0F, std::numeric_limits<float>::infinity()}));
  EXPECT_THAT([&] { clip_grad_norm({parameter}, 1, {.error_if_nonfinite = true}); },
              ThrowsWith<RuntimeError>("not finite"));
  EXPECT_EQ(parameter.grad()[0].item<double>(), 1);  // nothing was clipped
  EXPECT_TRUE(std::isinf(clip_grad_norm({parameter}, 1).item<double>()));
}

TEST(ClipGradValue, BringsEveryValueIntoItsRange) {
  const auto parameters = mixed();
  parameters[1].grad()[1][0] = -9;
  clip_grad_value(parameters, 3.5);
  EXPECT_TRUE(parameters[0].grad().equal(torch::tensor({3.0F, 0.0F})));
  EXPECT_TRUE(parameters[1].grad().equal(torch::tensor({{3.5}, {-3.5}}, torch::kDouble)));
  EXPECT_EQ(parameters[3].grad().item<double>(), 3.5);
}

TEST(Clip, RefusesWhatMeansNothing) {
  const auto sparse = torch::zeros({2, 2}, torch::requires_grad());
  sparse.mutable_grad() = torch::ones({2, 2}).to_sparse();
  EXPECT_THAT([] { clip_grad_norm(mixed(), 0); }, ThrowsWith<UsageError>("'max_norm'"));
  EXPECT_THAT([] { clip_grad_norm(mixed(), 1, {.norm_type = -1}); }, ThrowsWith<UsageError>("'norm_type'"));
  EXPECT_THAT([] { clip_grad_value(mixed(), -1); }, ThrowsWith<UsageError>("'clip_value'"));
  EXPECT_THAT([&] { clip_grad_norm({sparse}, 1); }, ThrowsWith<UsageError>("sparse"));
}

}  // namespace
}  // namespace lockstep::test
