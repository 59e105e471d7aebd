#include <lockstep/kernels/lstm.h>

#include <ATen/ops/lstm.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/autograd.h>

#include "same_on_threads.h"

namespace lockstep::kernels {
namespace {

struct Case {
  std::int64_t steps, samples, features, hidden;
  double scale = 0.1;  // of the weights
};

// The outputs, and the gradients of the input and of each weight.
using Results = std::vector<at::Tensor>;

template <typename Layer>
Results run(const Case& shape, at::ScalarType type, Layer layer) {
  at::manual_seed(5);
  const auto leaf = [&](at::IntArrayRef sizes, double scale) {
    return (at::randn(sizes) * scale).to(type).requires_grad_();
  };
  const at::Tensor input = leaf({shape.steps, shape.samples, shape.features}, 1);
  const LstmWeights weights{.input = leaf({4 * shape.hidden, shape.features}, shape.scale),
                            .hidden = leaf({4 * shape.hidden, shape.hidden}, shape.scale),
                            .input_bias = leaf({4 * shape.hidden}, shape.scale),
                            .hidden_bias = leaf({4 * shape.hidden}, shape.scale)};
  const at::Tensor output = layer(input, weights);
  Results results = {output.detach()};
  const auto gradients =
      torch::autograd::grad({output}, {input, weights.input, weights.hidden, weights.input_bias, weights.hidden_bias},
                            {at::randn(output.sizes()).to(type)});
  results.insert(results.end(), gradients.begin(), gradients.end());
  return results;
}

Results ours(const Case& shape) {
  return run(shape, at::kFloat, [](const at::Tensor& input, const LstmWeights& weights) {
    EXPECT_TRUE(can_lstm_layer(input, weights));
    return lstm_layer(input, weights);
  });
}

// In double precision.
Results expected(const Case& shape) {
  return run(shape, at::kDouble, [&](const at::Tensor& input, const LstmWeights& weights) {
    const at::Tensor zeros = at::zeros({1, shape.samples, shape.hidden}, at::kDouble);
    return std::get<0>(at::lstm(input, {zeros, zeros},
                                {weights.input, weights.hidden, weights.input_bias, weights.hidden_bias},
                                /*has_biases=*/true, /*num_layers=*/1, /*dropout=*/0, /*train=*/true,
                                /*bidirectional=*/false, /*batch_first=*/false));
  });
}

TEST(LstmLayer, IsRightForEverySize) {
  for (const Case& shape :
       {Case{1, 1, 32, 32}, Case{2, 3, 32, 64}, Case{9, 17, 64, 32}, Case{5, 64, 128, 96}, Case{6, 20, 32, 32, 0.5}}) {
    SCOPED_TRACE(c10::str(shape.steps, " steps, ", shape.samples, " samples, ", shape.features, " features, ",
                          shape.hidden, " cells, weights of ", shape.scale));
    const Results found = ours(shape), wanted = expected(shape);
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].sizes(), wanted[i].sizes()) << i;
      const double error = (found[i] - wanted[i]).abs().max().item<double>();
      // A few roundings of float32 at each step.
      EXPECT_LT(error, 1e-5 * std::max(1.0, wanted[i].abs().max().item<double>())) << "result " << i;
    }
  }
}

TEST(LstmLayer, SaturatesWithoutOverflow) {
  const Results found = ours({3, 4, 32, 32, 1000});
  for (const at::Tensor& result : found) EXPECT_TRUE(result.isfinite().all().item<bool>());
  EXPECT_LE(found.front().abs().max().item<double>(), 1);
}

TEST(LstmLayer, KeepsWhatIsNoNumber) {
  at::Tensor input = at::zeros({2, 2, 32});
  input[0][1][5] = std::numeric_limits<float>::quiet_NaN();
  const LstmWeights weights{at::randn({128, 32}), at::randn({128, 32}), at::zeros({128}), at::zeros({128})};
  const at::Tensor output = lstm_layer(input, weights);
  EXPECT_TRUE(output.select(1, 1).isnan().all().item<bool>());
  EXPECT_FALSE(output.select(1, 0).isnan().any().item<bool>());
}

TEST(LstmLayer, DoesNotDependOnTheNumberOfThreads) {
  expect_same_on_any_threads([] { return ours({7, 33, 64, 160}); });
}

TEST(LstmLayer, LeavesOtherInputsToLibtorch) {
  const at::Tensor input = at::randn({2, 3, 32}), bias = at::randn({128});
  const LstmWeights weights{at::randn({128, 32}), at::randn({128, 32}), bias, bias};
  EXPECT_TRUE(can_lstm_layer(input, weights));
  EXPECT_FALSE(can_lstm_layer(input.to(at::kDouble), weights));
  EXPECT_FALSE(can_lstm_layer(input, {weights.input, weights.hidden, {}, {}}));
  EXPECT_FALSE(can_lstm_layer(at::randn({2, 3, 20}), {at::randn({128, 20}), weights.hidden, bias, bias}));
  const at::Tensor odd = at::randn({80});
  EXPECT_FALSE(can_lstm_layer(input, {at::randn({80, 32}), at::randn({80, 20}), odd, odd}));
}

}  // namespace
}  // namespace lockstep::kernels
