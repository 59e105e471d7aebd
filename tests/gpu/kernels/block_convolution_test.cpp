// Convolutions over pictures of few channels on a GPU, against libtorch's in double precision.
#include <ATen/ops/convolution.h>

#include <lockstep/amp/autocast.h>
#include <lockstep/kernels/convolution.h>

#include "kernels/cuda/convolution.h"
#include "norm_cases.h"

namespace lockstep::kernels {
namespace {

class CudaBlockConvolution : public OnGpu {};

struct Case {
  std::vector<std::int64_t> input, weight;
  ConvolutionOptions options;
};

ConvolutionOptions options_of(std::int64_t stride, std::int64_t padding) {
  return {.stride = {stride, stride}, .padding = {padding, padding}, .dilation = {1, 1}};
}

// The stems of our models, and odd ones.
std::vector<Case> cases() {
  ConvolutionOptions uneven = options_of(1, 0);
  uneven.stride = {3, 1};
  uneven.padding = {1, 2};
  return {{{2, 3, 32, 30}, {16, 3, 7, 7}, options_of(2, 3)},
          {{2, 3, 15, 17}, {16, 3, 7, 7}, options_of(1, 3)},
          {{3, 3, 67, 65}, {8, 3, 11, 11}, options_of(4, 2)},
          {{2, 3, 9, 11}, {8, 3, 3, 3}, options_of(1, 1)},
          {{5, 1, 28, 28}, {24, 1, 5, 5}, options_of(1, 0)},
          {{1, 4, 13, 7}, {8, 4, 3, 3}, options_of(2, 1)},
          {{2, 2, 21, 19}, {8, 2, 4, 5}, uneven}};
}

at::Tensor exact(const Case& which, const at::Tensor& input, const at::Tensor& weight,
                 const std::optional<at::Tensor>& bias) {
  return at::convolution(input, weight, bias, which.options.stride, which.options.padding, which.options.dilation,
                         false, {0, 0}, 1);
}

void expect_right(const Case& which, const at::Tensor& input, const at::Tensor& weight, at::ScalarType type) {
  SCOPED_TRACE(c10::str(which.input, " by ", which.weight, " in ", type));
  const at::Tensor bias = torch::randn({weight.size(0)}, at::kCUDA).requires_grad_();
  ASSERT_TRUE(can_convolve(input, weight, which.options));
  const at::Tensor output = convolve(input, weight, bias, which.options);
  EXPECT_EQ(output.scalar_type(), type);
  const at::Tensor gradient = torch::randn_like(output);
  output.backward(gradient);

  const auto rounded = [&](const at::Tensor& tensor) {
    return tensor.detach().to(type).to(at::kDouble).requires_grad_(tensor.requires_grad());
  };
  const at::Tensor exact_weight = rounded(weight), exact_bias = rounded(bias);
  const at::Tensor expected = exact(which, rounded(input), exact_weight, exact_bias);
  expected.backward(gradient.to(at::kDouble));
  expect_close(output, expected, tolerance_of(type), "output");
  expect_close(weight.grad(), exact_weight.grad(), tolerance_of(type), "weight");
  expect_close(bias.grad(), exact_bias.grad(), tolerance_of(type), "bias");
}

TEST_F(CudaBlockConvolution, IsThatOfLibtorch) {
  for (const Case& which : cases()) {
    for (const at::ScalarType type : {at::kBFloat16, at::kHalf}) {
      const auto random = [&](const std::vector<std::int64_t>& shape) {
        return torch::randn(shape, at::kCUDA).to(type);
      };
      expect_right(which, random(which.input), random(which.weight).requires_grad_(), type);
      expect_right(which, channels_last(random(which.input)), channels_last(random(which.weight)).requires_grad_(),
                   type);
    }
  }
}

TEST_F(CudaBlockConvolution, ComputesInTheTypeOfAutocast) {
  for (const at::ScalarType type : {at::kBFloat16, at::kHalf}) {
    const amp::Autocast autocast(at::kCUDA, type);
    for (const Case& which : cases()) {
      const at::Tensor weight = channels_last(torch::randn(which.weight, at::kCUDA)).requires_grad_();
      expect_right(which, torch::randn(which.input, at::kCUDA), weight, type);
      EXPECT_EQ(weight.grad().scalar_type(), at::kFloat);
    }
  }
}

// Those that cuDNN does not convolve either: the window's rows are blocks, and there is no bias. More tiles than blocks
// of threads in one.
TEST_F(CudaBlockConvolution, ByProductsOfOurOwnIsThatOfLibtorch) {
  const std::vector<Case> by_columns = {{{2, 3, 32, 32}, {64, 3, 7, 7}, options_of(1, 3)},
                                        {{150, 3, 32, 32}, {64, 3, 7, 7}, options_of(1, 3)},
                                        {{3, 3, 16, 64}, {64, 3, 3, 3}, options_of(1, 1)},
                                        {{2, 1, 12, 36}, {64, 1, 5, 5}, options_of(1, 0)}};
  for (const Case& which : by_columns) {
    SCOPED_TRACE(c10::str(which.input, " by ", which.weight));
    const at::Tensor input = torch::randn(which.input, at::kCUDA).to(at::kBFloat16);
    const at::Tensor weight = channels_last(torch::randn(which.weight, at::kCUDA).to(at::kBFloat16)).requires_grad_();
    ASSERT_TRUE(can_convolve(input, weight, which.options));
    const at::Tensor output = convolve(input, weight, {}, which.options);
    const at::Tensor gradient = torch::randn_like(output);
    output.backward(gradient);
    const at::Tensor exact_weight = in_double(weight);
    const at::Tensor expected = exact(which, in_double(input), exact_weight, {});
    expected.backward(gradient.to(at::kDouble));
    expect_close(output, expected, tolerance_of(at::kBFloat16), "output");
    expect_close(weight.grad(), exact_weight.grad(), tolerance_of(at::kBFloat16), "weight");

    const at::Tensor known = known_of_cuda_convolve(output).to(at::kDouble);
    const at::Tensor counts = known.select(2, 3), means = known.select(2, 0) + known.select(2, 1);
    EXPECT_TRUE(counts.sum(0).eq(output.numel() / 64).all().item<bool>());
    const at::Tensor away = (means * counts).sum(0) / counts.sum(0) - expected.mean({0, 2, 3});
    EXPECT_LT((away / expected.std({0, 2, 3})).abs().max().item<double>(), 2e-3);
  }
}

TEST_F(CudaBlockConvolution, LeavesToOthersWhatItCannot) {
  const Case which = cases().front();
  const auto random = [](const std::vector<std::int64_t>& shape) {
    return torch::randn(shape, at::TensorOptions(at::kBFloat16).device(at::kCUDA));
  };
  const at::Tensor input = random(which.input), weight = random(which.weight);
  EXPECT_TRUE(can_convolve(input, weight, which.options));
  EXPECT_FALSE(can_convolve(input.to(at::kFloat), weight.to(at::kFloat), which.options)) << "no 16 bits";
  EXPECT_FALSE(can_convolve(input.clone().requires_grad_(), weight, which.options)) << "a gradient is wanted";
  EXPECT_FALSE(can_convolve(random({2, 5, 32, 30}), random({16, 5, 7, 7}), which.options)) << "many channels";
  EXPECT_FALSE(can_convolve(input, random({16, 3, 1, 1}), which.options)) << "nothing to put together";
  ConvolutionOptions dilated = which.options;
  dilated.dilation = {2, 2};
  EXPECT_FALSE(can_convolve(input, weight, dilated));
}

}  // namespace
}  // namespace lockstep::kernels
