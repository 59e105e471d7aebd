#include <lockstep/kernels/linear.h>

#include <ATen/ops/full.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>
#include <lockstep/kernels/linear_factors.h>
#include <torch/autograd.h>

#include "same_on_threads.h"

namespace lockstep::kernels {
namespace {

struct Case {
  std::int64_t samples, features, outputs;
};

// The output, and the gradients of the input, the weight and the bias.
using Results = std::vector<at::Tensor>;

template <typename Layer>
Results run(const Case& shape, at::ScalarType type, Layer layer) {
  at::manual_seed(11);
  const auto leaf = [&](at::IntArrayRef sizes) { return at::randn(sizes).to(type).requires_grad_(); };
  const at::Tensor input = leaf({shape.samples, shape.features}), bias = leaf({shape.outputs});
  const at::Tensor weight = leaf({shape.outputs, shape.features});
  const at::Tensor output = layer(input, weight, bias);
  Results results = {output.detach()};
  const auto gradients = torch::autograd::grad({output}, {input, weight, bias}, {at::randn(output.sizes()).to(type)});
  results.insert(results.end(), gradients.begin(), gradients.end());
  return results;
}

Results ours(const Case& shape) {
  return run(shape, at::kFloat, [](const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias) {
    EXPECT_TRUE(can_linear(input, weight, bias));
    return linear(input, weight, bias);
  });
}

// In double precision.
Results expected(const Case& shape) {
  return run(shape, at::kDouble, [](const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias) {
    return at::linear(input, weight, bias);
  });
}

TEST(Linear, IsRightForEverySize) {
  for (const Case& shape :
       {Case{1, 1024, 1024}, Case{3, 4099, 257}, Case{32, 2048, 512}, Case{33, 700, 1501}, Case{64, 9216, 128},
        Case{7, 4096, 1100}, Case{5, 129, 8200}, Case{4, 25088, 300}, Case{4, 4096, 1000}}) {
    SCOPED_TRACE(c10::str(shape.samples, " samples, ", shape.features, " features, ", shape.outputs, " outputs"));
    const Results found = ours(shape), wanted = expected(shape);
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].sizes(), wanted[i].sizes()) << i;
      const double error = (found[i] - wanted[i]).abs().max().item<double>();
      // Sums of n products in float32.
      EXPECT_LT(error, 4e-6 * wanted[i].abs().max().item<double>()) << "result " << i;
    }
  }
}

TEST(Linear, DoesNotDependOnTheNumberOfThreads) {
  expect_same_on_any_threads([] { return ours({20, 1500, 1000}); });
}

// More samples than are multiplied at once, rows that are no whole blocks, and results of both sides of the caches'
// size.
TEST(Linear, MultipliesRowsOfFactorsIntoSeveralResults) {
  for (const Case& shape : {Case{5, 1100, 1030}, Case{130, 1024, 1024}, Case{32, 4096, 1500}}) {
    SCOPED_TRACE(c10::str(shape.samples, " samples, ", shape.features, " features, ", shape.outputs, " outputs"));
    const LinearFactors factors{at::randn({shape.samples, shape.outputs}), at::randn({shape.samples, shape.features})};
    std::vector<at::Tensor> results;
    for (int i = 0; i < 3; ++i) results.push_back(at::full({shape.outputs, shape.features}, -7, at::kFloat));
    const std::int64_t first = 101, end = 613;
    multiply(factors, results, first, end);
    const at::Tensor wanted = factors.gradient.to(at::kDouble).t().mm(factors.input.to(at::kDouble));
    for (const at::Tensor& result : results) {
      const double error = (result - wanted).slice(0, first, end).abs().max().item<double>();
      EXPECT_LT(error, 4e-6 * wanted.abs().max().item<double>());
      EXPECT_TRUE(result.slice(0, 0, first).eq(-7).all().item<bool>());
      EXPECT_TRUE(result.slice(0, end).eq(-7).all().item<bool>());
    }
  }
}

TEST(Linear, LeavesToLibtorchWhatIsNotFaster) {
  const at::Tensor input = at::randn({8, 1024}), weight = at::randn({1024, 1024}), bias = at::randn({1024});
  EXPECT_TRUE(can_linear(input, weight, bias));
  EXPECT_FALSE(can_linear(input, weight, {}));
  EXPECT_FALSE(can_linear(input, weight, at::randn({1})));
  EXPECT_FALSE(can_linear(at::randn({65, 1024}), weight, bias));
  EXPECT_FALSE(can_linear(input, weight.slice(0, 0, 1000), bias));
  EXPECT_FALSE(can_linear(input.to(at::kDouble), weight.to(at::kDouble), bias.to(at::kDouble)));
  EXPECT_FALSE(can_linear(at::randn({2, 4, 1024}), weight, bias));
}

}  // namespace
}  // namespace lockstep::kernels
