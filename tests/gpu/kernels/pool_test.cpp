// Pooling by the fused engine on a GPU against libtorch's operations: maxima and their gradients have the same bits.
#include <lockstep/kernels/pool.h>

#include "kernels/cuda/pool.h"
#include "no_waiting.h"
#include "norm_cases.h"
#include "pooled_alike.h"

namespace lockstep::kernels {
namespace {

class CudaPooling : public OnGpu {};

void expect_libtorchs(const at::Tensor& input, const MaxPool& options) {
  const std::string what =
      c10::str(input.sizes(), " ", input.scalar_type(), ", kernel ", options.kernel, ", stride ", options.stride,
               ", padding ", options.padding, ", slope ", options.slope.value_or(-1));
  ASSERT_TRUE(can_cuda_max_pool(input, options)) << what;
  expect_pooled_alike(input, options, what);
}

TEST_F(CudaPooling, FindsTheMaximaOfLibtorch) {
  const std::vector<MaxPool> windows = {{.kernel = 2, .stride = 2},
                                        {.kernel = 3, .stride = 2},
                                        {.kernel = 3, .stride = 2, .padding = 1},
                                        {.kernel = 3, .stride = 1, .padding = 1},
                                        {.kernel = 2, .stride = 3},
                                        {.kernel = 5, .stride = 4, .padding = 2}};
  const std::vector<std::optional<double>> slopes = {std::nullopt, 0.0, 0.25};
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    for (MaxPool window : windows) {
      for (const auto& slope : slopes) {
        window.slope = slope;
        expect_libtorchs(random_batch({3, 24, 11, 14}, type).requires_grad_(), window);
        expect_libtorchs(random_batch({2, 8, 6, 13}, type).requires_grad_(), window);
        expect_libtorchs(random_batch({2, 8, 5, 6, 7}, type).requires_grad_(), window);
      }
    }
    expect_libtorchs(random_batch({64, 64, 112, 112}, type).requires_grad_(),
                     {.kernel = 3, .stride = 2, .padding = 1, .slope = 0});
    expect_libtorchs(random_batch({64, 64, 55, 55}, type).requires_grad_(), {.kernel = 3, .stride = 2, .slope = 0});
    expect_libtorchs(random_batch({16, 64, 224, 224}, type).requires_grad_(), {});
  }
}

TEST_F(CudaPooling, GivesEqualValuesGradientToTheFirst) {
  const at::Tensor input = channels_last(torch::randint(-2, 3, {4, 16, 9, 9}, at::kCUDA).to(at::kHalf));
  expect_libtorchs(input.requires_grad_(), {.kernel = 3, .stride = 2, .padding = 1});
}

TEST_F(CudaPooling, FindsValuesThatAreNone) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    at::Tensor input = random_batch({4, 16, 9, 9}, type);
    input.masked_fill_(torch::rand({4, 16, 9, 9}, at::kCUDA) < 0.1, std::numeric_limits<float>::quiet_NaN());
    expect_libtorchs(input.requires_grad_(), {.kernel = 3, .stride = 2, .padding = 1});
  }
}

// Each channel's bias keeps the order of its values, so places are those of the reference, and only sums are rounded.
void expect_biased(const at::Tensor& input, const at::Tensor& bias, MaxPool options) {
  const std::string what = c10::str(input.sizes(), " ", input.scalar_type(), ", kernel ", options.kernel, ", slope ",
                                    options.slope.value_or(-1));
  const at::Tensor exact_input = in_double(input), exact_bias = in_double(bias);
  options.bias = exact_bias;
  const at::Tensor expected = by_engine(Engine::kReference, exact_input, options);
  options.bias = bias;
  ASSERT_TRUE(can_cuda_max_pool(input, options)) << what;
  const at::Tensor found = max_pool(input, options), gradient = torch::randn_like(found);
  expect_close(found, expected, tolerance_of(input.scalar_type()), what);
  const auto of = torch::autograd::grad({found}, {input, bias}, {gradient});
  const auto wanted = torch::autograd::grad({expected}, {exact_input, exact_bias}, {gradient.to(at::kDouble)});
  expect_close(of[0], wanted[0], tolerance_of(input.scalar_type()), what);
  expect_close(of[1], wanted[1], tolerance_of(at::kFloat), what);
}

at::Tensor random_bias(std::int64_t channels) {
  return torch::randn({channels}, at::kCUDA).requires_grad_();
}

TEST_F(CudaPooling, AddsABiasToTheMaxima) {
  const std::vector<MaxPool> windows = {{.kernel = 2, .stride = 2},
                                        {.kernel = 3, .stride = 2},
                                        {.kernel = 3, .stride = 2, .padding = 1},
                                        {.kernel = 3, .stride = 1, .padding = 1}};
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    for (MaxPool window : windows) {
      for (const auto& slope : std::vector<std::optional<double>>{std::nullopt, 0.0, 0.25}) {
        window.slope = slope;
        expect_biased(random_batch({3, 24, 11, 14}, type).requires_grad_(), random_bias(24), window);
        expect_biased(random_batch({2, 8, 5, 6, 7}, type).requires_grad_(), random_bias(8), window);
      }
    }
    expect_biased(random_batch({64, 192, 27, 27}, type).requires_grad_(), random_bias(192),
                  {.kernel = 3, .stride = 2, .slope = 0});
  }
}

TEST_F(CudaPooling, AddsABiasWithoutAKernelForIt) {
  const at::Tensor input = random_batch({3, 12, 11, 14}, at::kHalf), bias = random_bias(12);
  ASSERT_FALSE(can_cuda_max_pool(input, {.bias = bias}));
  const at::Tensor sum = input + bias.to(at::kHalf).view({1, 12, 1, 1});
  EXPECT_TRUE(at::equal(max_pool(input, {.bias = bias, .slope = 0}), at::max_pool2d(at::relu(sum), 2, 2)));
}

TEST_F(CudaPooling, GivesOnlyTheGradientsThatAreWanted) {
  const at::Tensor input = random_batch({4, 16, 9, 9}, at::kBFloat16), bias = random_bias(16);
  const auto gradient_of = [&](bool of_input, bool of_bias) {
    const at::Tensor x = input.detach().clone().requires_grad_(of_input);
    const at::Tensor b = bias.detach().clone().requires_grad_(of_bias);
    max_pool(x, {.bias = b, .slope = 0}).sum().backward();
    return std::pair(x.grad(), b.grad());
  };
  const auto [of_input, of_bias] = gradient_of(true, true);
  EXPECT_TRUE(at::equal(gradient_of(true, false).first, of_input));
  EXPECT_TRUE(at::equal(gradient_of(false, true).second, of_bias));
}

TEST_F(CudaPooling, AveragesAsInDoubles) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    for (const auto& shape : {std::vector<std::int64_t>{3, 8, 1, 1}, {5, 72, 7, 7}, {256, 2048, 4, 4}}) {
      const at::Tensor input = random_batch(shape, type, 1).requires_grad_(), exact = in_double(input);
      ASSERT_TRUE(can_cuda_average_pool(input));
      const at::Tensor found = global_average_pool(input), expected = at::adaptive_avg_pool2d(exact, {1, 1});
      EXPECT_TRUE(found.sizes() == expected.sizes());
      expect_close(found, expected, tolerance_of(type), c10::str(shape));
      const at::Tensor gradient = torch::randn_like(found);
      const at::Tensor of_input = torch::autograd::grad({found}, {input}, {gradient})[0];
      expect_close(of_input, torch::autograd::grad({expected}, {exact}, {gradient.to(at::kDouble)})[0],
                   tolerance_of(type), c10::str(shape));
      EXPECT_TRUE(of_input.is_contiguous(at::MemoryFormat::ChannelsLast));
    }
  }
}

TEST_F(CudaPooling, DoesNotMakeTheHostWait) {
  const at::Tensor input = random_batch({4, 16, 9, 9}, at::kFloat).requires_grad_(), bias = random_bias(16);
  const test::NoWaiting no_waiting;
  max_pool(input, {.bias = bias, .slope = 0}).sum().backward();
  global_average_pool(input).sum().backward();
}

}  // namespace
}  // namespace lockstep::kernels
