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
  const at::Tensor input = random_batch({4, 16, 9, 9}, at::kFloat).requires_grad_();
  const test::NoWaiting no_waiting;
  max_pool(input, {.slope = 0}).sum().backward();
  global_average_pool(input).sum().backward();
}

}  // namespace
}  // namespace lockstep::kernels
