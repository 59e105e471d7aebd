#include <lockstep/kernels/convolution.h>

#include <ATen/ops/convolution.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randn_like.h>
#include <ATen/ops/relu.h>
#include <gtest/gtest.h>
#include <torch/autograd.h>

#include "same_on_threads.h"

namespace lockstep::kernels {
namespace {

struct Case {
  std::vector<std::int64_t> input, weight;
  std::int64_t padding = 0;
};

std::string describe(const Case& shape) {
  return c10::str(at::IntArrayRef(shape.input), " * ", at::IntArrayRef(shape.weight), ", padding ", shape.padding);
}

ConvolutionOptions options_of(const Case& shape, bool relu = false) {
  return {.stride = {1, 1}, .padding = {shape.padding, shape.padding}, .dilation = {1, 1}, .relu = relu};
}

// The result of a convolution and the gradients of all that went in.
struct Results {
  at::Tensor output, input, weight, bias;
};

template <typename Convolve>
Results run(const Case& shape, at::ScalarType type, Convolve convolve) {
  at::manual_seed(3);
  const auto leaf = [&](const at::Tensor& values) { return values.to(type).requires_grad_(); };
  const at::Tensor input = leaf(at::randn(shape.input).contiguous(at::MemoryFormat::ChannelsLast));
  const at::Tensor weight = leaf(at::randn(shape.weight).contiguous(at::MemoryFormat::ChannelsLast));
  const at::Tensor bias = leaf(at::randn({shape.weight[0]}));
  const at::Tensor output = convolve(input, weight, bias);
  const at::Tensor gradient = at::randn(output.sizes()).to(type);
  const auto gradients = torch::autograd::grad({output}, {input, weight, bias}, {gradient});
  return {output.detach(), gradients[0], gradients[1], gradients[2]};
}

Results ours(const Case& shape) {
  return run(shape, at::kFloat, [&](const auto& input, const auto& weight, const auto& bias) {
    EXPECT_TRUE(can_convolve(input, weight, options_of(shape)));
    return convolve(input, weight, bias, options_of(shape));
  });
}

// In double precision.
Results expected(const Case& shape) {
  const ConvolutionOptions options = options_of(shape);
  return run(shape, at::kDouble, [&](const auto& input, const auto& weight, const auto& bias) {
    return at::convolution(input, weight, bias, options.stride, options.padding, options.dilation, false,
                           std::vector<std::int64_t>(options.stride.size(), 0), 1);
  });
}

// Of the largest value. A sum of n products in float32 is off by about sqrt(n) * 6e-8; the transforms multiply that by
// about ten.
constexpr double kTolerance = 4e-5;

void expect_near(const char* what, const at::Tensor& found, const at::Tensor& wanted) {
  ASSERT_EQ(found.sizes(), wanted.sizes()) << what;
  const double error = (found - wanted).abs().max().item<double>() / wanted.abs().max().item<double>();
  EXPECT_LT(error, kTolerance) << what;
}

void expect_same(const Case& shape) {
  SCOPED_TRACE(describe(shape));
  const Results found = ours(shape), wanted = expected(shape);
  expect_near("output", found.output, wanted.output);
  expect_near("gradient of the input", found.input, wanted.input);
  expect_near("gradient of the weight", found.weight, wanted.weight);
  expect_near("gradient of the bias", found.bias, wanted.bias);
}

TEST(Convolution, IsRightForEverySize) {
  for (const Case& shape : std::vector<Case>{{{7, 64, 13, 13}, {48, 64, 3, 3}, 1},
                                             {{40, 16, 8, 8}, {32, 16, 3, 3}, 1},
                                             {{4, 32, 26, 22}, {64, 32, 3, 3}},
                                             {{5, 16, 40, 5}, {16, 16, 3, 3}, 2},
                                             {{100, 16, 1, 3}, {16, 16, 3, 3}, 1},
                                             {{3, 64, 27, 27}, {48, 64, 5, 5}, 2},
                                             {{9, 16, 9, 30}, {16, 16, 5, 5}, 4},
                                             {{40, 160, 8, 8}, {160, 160, 3, 3}, 1},
                                             {{33, 160, 4, 4}, {176, 160, 3, 3}, 1}}) {
    expect_same(shape);
  }
}

TEST(Convolution, HasItsReluInOneStep) {
  const at::Tensor input = at::randn({8, 32, 16, 16}).requires_grad_();
  const at::Tensor weight = at::randn({160, 32, 3, 3}).requires_grad_(), bias = at::randn({160}).requires_grad_();
  const Case shape{{}, {}, 1};
  const at::Tensor plain = convolve(input, weight, bias, options_of(shape));
  const at::Tensor rectified = convolve(input, weight, bias, options_of(shape, /*relu=*/true));
  EXPECT_TRUE(at::equal(rectified, at::relu(plain)));
  const at::Tensor gradient = at::randn(plain.sizes());
  const auto found = torch::autograd::grad({rectified}, {input, weight, bias}, {gradient});
  const auto wanted = torch::autograd::grad({plain}, {input, weight, bias}, {gradient * (plain > 0)});
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(at::equal(found[i], wanted[i])) << i;
}

// A result that is no number must not look like one.
TEST(Convolution, KeepsWhatIsNoNumber) {
  at::Tensor input = at::ones({8, 16, 16, 16});
  input[0][0][7][7] = std::numeric_limits<float>::quiet_NaN();
  const at::Tensor output = convolve(input, at::ones({16, 16, 3, 3}), {}, options_of({{}, {}, 1}, /*relu=*/true));
  EXPECT_TRUE(output[0][0][7][7].isnan().item<bool>());
  EXPECT_FALSE(output[1].isnan().any().item<bool>());
}

TEST(Convolution, DoesNotDependOnTheNumberOfThreads) {
  for (const Case& shape : std::vector<Case>{{{8, 64, 16, 16}, {64, 64, 3, 3}, 1},
                                             {{16, 160, 16, 16}, {160, 160, 3, 3}, 1},
                                             {{9, 16, 13, 13}, {48, 16, 5, 5}, 2}}) {
    SCOPED_TRACE(describe(shape));
    expect_same_on_any_threads([&] {
      const Results results = ours(shape);
      return std::vector<at::Tensor>{results.output, results.input, results.weight};
    });
  }
}

TEST(Convolution, TakesAnyLayout) {
  const at::Tensor input = at::randn({8, 16, 17, 15}), weight = at::randn({32, 16, 3, 3});
  const ConvolutionOptions options = options_of({{}, {}, 1});
  const at::Tensor wanted = convolve(input.contiguous(at::MemoryFormat::ChannelsLast), weight, {}, options);
  EXPECT_TRUE(at::equal(convolve(input, weight, {}, options), wanted));
  const at::Tensor turned = input.transpose(2, 3).contiguous().transpose(2, 3);
  EXPECT_TRUE(at::equal(convolve(turned, weight, {}, options), wanted));
}

TEST(Convolution, LeavesToLibtorchWhatIsNotFaster) {
  const at::Tensor input = at::randn({8, 16, 16, 16}), weight = at::randn({16, 16, 3, 3});
  const ConvolutionOptions options = options_of({{}, {}, 1});
  EXPECT_TRUE(can_convolve(input, weight, options));
  EXPECT_FALSE(can_convolve(input.to(at::kDouble), weight.to(at::kDouble), options));
  EXPECT_FALSE(can_convolve(input.slice(0, 0, 0), weight, options));
  EXPECT_FALSE(can_convolve(input.slice(0, 0, 1), weight, options)) << "too few tiles";
  EXPECT_FALSE(can_convolve(input, at::randn({16, 16, 1, 1}), options));
  EXPECT_FALSE(can_convolve(input, at::randn({16, 16, 3, 5}), options));
  EXPECT_FALSE(can_convolve(input, at::randn({17, 16, 3, 3}), options));
  EXPECT_FALSE(can_convolve(at::randn({8, 3, 16, 16}), at::randn({16, 3, 3, 3}), options));
  EXPECT_FALSE(can_convolve(at::randn({8, 16, 8, 8, 8}), at::randn({16, 16, 3, 3, 3}), options));
  ConvolutionOptions other = options;
  other.stride = {2, 2};
  EXPECT_FALSE(can_convolve(input, weight, other));
  other = options;
  other.dilation = {2, 2};
  EXPECT_FALSE(can_convolve(input, weight, other));
  other = options;
  other.groups = 2;
  EXPECT_FALSE(can_convolve(input, weight.slice(1, 0, 8), other));
}

}  // namespace
}  // namespace lockstep::kernels
