#include <lockstep/kernels/convolution.h>

#include <ATen/Parallel.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randn_like.h>
#include <ATen/ops/relu.h>
#include <gtest/gtest.h>
#include <torch/autograd.h>

namespace lockstep::kernels {
namespace {

struct Case {
  std::vector<std::int64_t> input, weight;
  std::int64_t stride = 1, padding = 0, dilation = 1;
};

std::string describe(const Case& shape) {
  return c10::str(at::IntArrayRef(shape.input), " * ", at::IntArrayRef(shape.weight), ", stride ", shape.stride,
                  ", padding ", shape.padding, ", dilation ", shape.dilation);
}

ConvolutionOptions options_of(const Case& shape, bool relu = false) {
  const std::size_t dimensions = shape.input.size() - 2;
  return {.stride = std::vector(dimensions, shape.stride),
          .padding = std::vector(dimensions, shape.padding),
          .dilation = std::vector(dimensions, shape.dilation),
          .relu = relu};
}

// The result of a convolution and the gradients of all that went in.
struct Results {
  at::Tensor output, input, weight, bias;
};

template <typename Convolve>
Results run(const Case& shape, at::ScalarType type, Convolve convolve) {
  at::manual_seed(3);
  const auto format = shape.input.size() == 5 ? at::MemoryFormat::ChannelsLast3d : at::MemoryFormat::ChannelsLast;
  const auto leaf = [&](const at::Tensor& values) { return values.to(type).requires_grad_(); };
  const at::Tensor input = leaf(at::randn(shape.input).contiguous(format));
  const at::Tensor weight = leaf(at::randn(shape.weight).contiguous(format));
  const at::Tensor bias = leaf(at::randn({shape.weight[0]}));
  const at::Tensor output = convolve(input, weight, bias);
  const at::Tensor gradient = at::randn(output.sizes()).to(type);
  const auto gradients = torch::autograd::grad({output}, {input, weight, bias}, {gradient});
  return {output.detach(), gradients[0], gradients[1], gradients[2]};
}

Results ours(const Case& shape, bool relu = false) {
  return run(shape, at::kFloat, [&](const auto& input, const auto& weight, const auto& bias) {
    EXPECT_TRUE(can_convolve(input, weight, options_of(shape)));
    return convolve(input, weight, bias, options_of(shape, relu));
  });
}

// In double precision.
Results expected(const Case& shape, bool relu = false) {
  const ConvolutionOptions options = options_of(shape);
  return run(shape, at::kDouble, [&](const auto& input, const auto& weight, const auto& bias) {
    const at::Tensor output = at::convolution(input, weight, bias, options.stride, options.padding, options.dilation,
                                              false, std::vector<std::int64_t>(options.stride.size(), 0), 1);
    return relu ? at::relu(output) : output;
  });
}

void expect_near(const char* what, const at::Tensor& found, const at::Tensor& wanted, double tolerance) {
  ASSERT_EQ(found.sizes(), wanted.sizes()) << what;
  const double error = (found - wanted).abs().max().item<double>() / wanted.abs().max().item<double>();
  EXPECT_LT(error, tolerance) << what;
}

// Of the largest value. A sum of n products in float32 is off by about sqrt(n) * 6e-8; Winograd's transforms multiply
// that by about ten.
constexpr double kDirect = 4e-6, kWinograd = 4e-5;

void expect_same(const Case& shape, double tolerance, bool relu = false) {
  SCOPED_TRACE(describe(shape));
  const Results found = ours(shape, relu), wanted = expected(shape, relu);
  expect_near("output", found.output, wanted.output, tolerance);
  expect_near("gradient of the input", found.input, wanted.input, tolerance);
  expect_near("gradient of the weight", found.weight, wanted.weight, tolerance);
  expect_near("gradient of the bias", found.bias, wanted.bias, tolerance);
}

TEST(Convolution, IsRightForOddSizes) {
  for (const Case& shape : std::vector<Case>{
           {{2, 17, 11, 9}, {33, 17, 3, 3}, 2, 1},
           {{1, 8, 7, 7}, {70, 8, 5, 5}, 1, 2},
           {{2, 20, 10, 13}, {14, 20, 1, 1}, 2, 0},
           {{1, 9, 5, 5}, {1, 9, 5, 5}},
           {{3, 64, 6, 6}, {100, 64, 1, 1}},
           {{2, 33, 8, 8}, {31, 33, 3, 3}, 3, 2},
           {{2, 10, 12, 12}, {12, 10, 3, 3}, 1, 2, 2},
           {{1, 700, 3, 3}, {40, 700, 1, 1}},
       }) {
    expect_same(shape, kDirect);
  }
}

TEST(Convolution, IsRightForFewChannels) {
  for (const Case& shape : std::vector<Case>{{{2, 3, 9, 12}, {5, 3, 3, 3}, 1, 1},
                                             {{3, 1, 28, 28}, {32, 1, 3, 3}},
                                             {{2, 3, 40, 40}, {64, 3, 11, 11}, 4, 2},
                                             {{2, 3, 15, 15}, {16, 3, 7, 7}, 1, 3},
                                             {{1, 2, 9, 9}, {20, 2, 3, 3}, 1, 0, 2}}) {
    expect_same(shape, kDirect);
  }
}

TEST(Convolution, IsRightByWinograd) {
  for (const Case& shape : std::vector<Case>{{{2, 64, 13, 13}, {48, 64, 3, 3}, 1, 1},
                                             {{40, 16, 8, 8}, {32, 16, 3, 3}, 1, 1},
                                             {{2, 32, 26, 22}, {64, 32, 3, 3}},
                                             {{1, 16, 40, 5}, {16, 16, 3, 3}, 1, 2},
                                             {{3, 64, 27, 27}, {48, 64, 5, 5}, 1, 2},
                                             {{40, 160, 8, 8}, {160, 160, 3, 3}, 1, 1}}) {
    expect_same(shape, kWinograd);
  }
}

TEST(Convolution, IsRightForVolumes) {
  for (const Case& shape : std::vector<Case>{{{2, 2, 8, 8, 8}, {16, 2, 3, 3, 3}, 1, 1},
                                             {{1, 16, 5, 6, 7}, {32, 16, 3, 3, 3}, 1, 1},
                                             {{2, 9, 6, 6, 6}, {10, 9, 2, 2, 2}, 2, 0}}) {
    expect_same(shape, kDirect);
  }
}

TEST(Convolution, HasItsReluInOneStep) {
  expect_same({{2, 20, 9, 9}, {30, 20, 3, 3}, 1, 1}, kDirect, /*relu=*/true);
  expect_same({{8, 32, 16, 16}, {32, 32, 3, 3}, 1, 1}, kWinograd, /*relu=*/true);
}

// A result that is no number must not look like one.
TEST(Convolution, KeepsWhatIsNoNumber) {
  for (const std::int64_t channels : {5, 16}) {
    at::Tensor input = at::ones({8, channels, 16, 16});
    input[0][0][7][7] = std::numeric_limits<float>::quiet_NaN();
    const ConvolutionOptions options{.stride = {1, 1}, .padding = {1, 1}, .dilation = {1, 1}, .relu = true};
    const at::Tensor output = convolve(input, at::ones({16, channels, 3, 3}), {}, options);
    EXPECT_TRUE(output[0][0][7][7].isnan().item<bool>());
    EXPECT_FALSE(output[1].isnan().any().item<bool>());
  }
}

TEST(Convolution, DoesNotDependOnTheNumberOfThreads) {
  const int before = at::get_num_threads();
  for (const Case& shape : std::vector<Case>{{{4, 40, 14, 14}, {70, 40, 3, 3}, 2, 1},
                                             {{8, 64, 16, 16}, {64, 64, 3, 3}, 1, 1},
                                             {{16, 160, 16, 16}, {160, 160, 3, 3}, 1, 1},
                                             {{4, 256, 8, 8}, {96, 256, 1, 1}}}) {
    SCOPED_TRACE(describe(shape));
    at::set_num_threads(1);
    const Results one = ours(shape);
    for (const int threads : {2, 3}) {
      at::set_num_threads(threads);
      const Results more = ours(shape);
      EXPECT_TRUE(at::equal(one.output, more.output) && at::equal(one.input, more.input) &&
                  at::equal(one.weight, more.weight));
    }
  }
  at::set_num_threads(before);
}

TEST(Convolution, TakesAnyLayout) {
  const at::Tensor input = at::randn({2, 12, 9, 9}), weight = at::randn({8, 12, 3, 3});
  const ConvolutionOptions options{.stride = {1, 1}, .padding = {1, 1}, .dilation = {1, 1}};
  const at::Tensor wanted = convolve(input.contiguous(at::MemoryFormat::ChannelsLast), weight, {}, options);
  EXPECT_TRUE(at::equal(convolve(input, weight, {}, options), wanted));
  const at::Tensor turned = input.transpose(2, 3).contiguous().transpose(2, 3);
  EXPECT_TRUE(at::equal(convolve(turned, weight, {}, options), wanted));
}

TEST(Convolution, LeavesOtherInputsToLibtorch) {
  const at::Tensor input = at::randn({1, 4, 5, 5}), weight = at::randn({4, 4, 3, 3});
  ConvolutionOptions options{.stride = {1, 1}, .padding = {0, 0}, .dilation = {1, 1}};
  EXPECT_TRUE(can_convolve(input, weight, options));
  EXPECT_FALSE(can_convolve(input.to(at::kDouble), weight.to(at::kDouble), options));
  EXPECT_FALSE(can_convolve(input.slice(0, 0, 0), weight, options));
  options.groups = 2;
  EXPECT_FALSE(can_convolve(input, weight.slice(1, 0, 2), options));
}

}  // namespace
}  // namespace lockstep::kernels
