// LARS and LAMB beside their formulas, written down for one parameter in float64.
#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/base/errors.h>
#include <lockstep/optim/lamb.h>
#include <lockstep/optim/lars.h>

#include "parameters.h"
#include "throws_with.h"

namespace lockstep::test {
namespace {

using optim::Lamb;
using optim::LambOptions;
using optim::Lars;
using optim::LarsOptions;

double norm_of(const torch::Tensor& tensor) {
  return std::sqrt((tensor * tensor).sum().item<double>());
}

// The parameters of the formulas, in float64.
struct Reference {
  torch::Tensor weight, first = torch::zeros_like(weight), second = torch::zeros_like(weight);
  int steps = 0;

  void lars(const torch::Tensor& gradient, const LarsOptions& options) {
    const double of_weight = norm_of(weight), of_gradient = norm_of(gradient), decay = options.weight_decay();
    double local = 1;
    if ((decay != 0 || options.always_adapt()) && of_weight > 0 && of_gradient > 0) {
      local = options.trust_coefficient() * of_weight / (of_gradient + decay * of_weight + options.eps());
    }
    first = options.momentum() * first + options.lr() * local * (gradient + decay * weight);
    weight = weight - first;
  }

  void lamb(const torch::Tensor& gradient, const LambOptions& options) {
    const auto [beta1, beta2] = options.betas();
    ++steps;
    first = beta1 * first + (1 - beta1) * gradient;
    second = beta2 * second + (1 - beta2) * gradient * gradient;
    const auto mean = first / (1 - std::pow(beta1, steps)), square = second / (1 - std::pow(beta2, steps));
    const auto update = mean / (square.sqrt() + options.eps()) + options.weight_decay() * weight;
    const bool adapts = options.weight_decay() != 0 || options.always_adapt();
    const double ratio = adapts && norm_of(weight) > 0 && norm_of(update) > 0 ? norm_of(weight) / norm_of(update) : 1;
    weight = weight - options.lr() * ratio * update;
  }
};

std::vector<Reference> references(const std::vector<torch::Tensor>& parameters) {
  std::vector<Reference> result;
  for (const auto& parameter : parameters) result.push_back({parameter.detach().to(torch::kDouble).clone()});
  return result;
}

// Relative to a tensor's largest value, or to 1.
double largest_error(const std::vector<torch::Tensor>& parameters, const std::vector<Reference>& expected) {
  double largest = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const double scale = std::max(1.0, expected[i].weight.abs().max().item<double>());
    largest = std::max(largest, largest_difference({parameters[i]}, {expected[i].weight}) / scale);
  }
  return largest;
}

// Three tensors of zeros, whose norm divides nothing, are among them.
std::vector<torch::Tensor> with_zeros() {
  auto parameters = make_parameters(false);
  for (int i = 0; i < 3; ++i) parameters.push_back(torch::zeros({2, 600}, torch::requires_grad()));
  return parameters;
}

TEST(Lars, IsThePapersFormula) {
  for (const auto& options :
       {LarsOptions(2.0).weight_decay(0.1), LarsOptions(0.05), LarsOptions(3.0).always_adapt(true),
        LarsOptions(2.0).weight_decay(0.1).momentum(0).trust_coefficient(0.02)}) {
    const auto parameters = with_zeros();
    auto expected = references(parameters);
    Lars lars(parameters, options);
    for (int step = 0; step < 10; ++step) {
      set_gradients(parameters, step);
      lars.step();
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        const auto& gradient = parameters[i].grad();
        if (gradient.defined()) expected[i].lars(gradient.to(torch::kDouble), options);
      }
    }
    EXPECT_LT(largest_error(parameters, expected), 1e-6) << "rate " << options.lr();
  }
}

TEST(Lamb, IsThePapersFormulaWithTheCorrectionOfBias) {
  for (const auto& options : {LambOptions(0.02).weight_decay(0.1), LambOptions(0.02).weight_decay(0),
                              LambOptions(0.02).weight_decay(0).always_adapt(true).betas({0.8, 0.9})}) {
    const auto parameters = with_zeros();
    auto expected = references(parameters);
    Lamb lamb(parameters, options);
    for (int step = 0; step < 10; ++step) {
      set_gradients(parameters, step);
      lamb.step();
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        const auto& gradient = parameters[i].grad();
        if (gradient.defined()) expected[i].lamb(gradient.to(torch::kDouble), options);
      }
    }
    EXPECT_LT(largest_error(parameters, expected), 2e-6) << "decay " << options.weight_decay();
  }
}

TEST(Layerwise, SixteenBitParametersHaveStateInFloat32) {
  const auto parameter = torch::ones({700}, torch::kBFloat16).requires_grad_(true);
  parameter.mutable_grad() = torch::full({700}, 0.5, torch::kBFloat16);
  Lars lars({parameter}, LarsOptions(0.25));
  lars.step();
  EXPECT_TRUE(parameter.eq(0.875).all().item<bool>());
  const auto& state = static_cast<optim::LarsParamState&>(*lars.state().at(parameter.unsafeGetTensorImpl()));
  EXPECT_EQ(state.momentum_buffer().scalar_type(), torch::kFloat);
  EXPECT_TRUE(state.momentum_buffer().eq(0.125).all().item<bool>());
}

TEST(Layerwise, RefusesWhatItCannotDo) {
  const auto complex = torch::ones({2}, torch::kComplexFloat).requires_grad_(true);
  complex.mutable_grad() = torch::ones_like(complex);
  Lamb lamb({complex});
  EXPECT_THAT([&] { lamb.step(); }, ThrowsWith<UsageError>("real parameters"));
  EXPECT_THAT([&] { Lars({complex}, LarsOptions(-1)); }, ThrowsWith<UsageError>("'lr'"));
  EXPECT_THAT([&] { Lamb({complex}, LambOptions().betas({0.9, 1})); }, ThrowsWith<UsageError>("'betas'"));
}

}  // namespace
}  // namespace lockstep::test
