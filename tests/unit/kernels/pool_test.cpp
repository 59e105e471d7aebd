// Pooling by the fused engine against libtorch's operations: maxima and their gradients have the same bits.
#include <lockstep/kernels/pool.h>

#include <limits>

#include <ATen/Parallel.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randn_like.h>
#include <gmock/gmock.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/utils.h>

#include <lockstep/base/cpu.h>
#include <lockstep/base/errors.h>
#include <lockstep/kernels/engine.h>

#include "kernels/cpu/pool.h"
#include "kernels/cpu/pool_kernels.h"
#include "levels.h"
#include "pooled_alike.h"

namespace lockstep::kernels {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

at::Tensor channels_last(const at::Tensor& tensor) {
  return tensor.contiguous(tensor.dim() == 4 ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::ChannelsLast3d);
}

class Pooling : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cpu::kernel_level() == cpu::KernelLevel::kBase) GTEST_SKIP() << "this CPU has no AVX2";
    torch::manual_seed(1);
  }
  void TearDown() override { set_engine(Engine::kFused); }
};

void expect_libtorchs(const at::Tensor& values, const MaxPool& options) {
  const std::string what = c10::str(values.sizes(), ", kernel ", options.kernel, ", stride ", options.stride,
                                    ", padding ", options.padding, ", slope ", options.slope.value_or(-1));
  const at::Tensor input = channels_last(values).requires_grad_();
  ASSERT_TRUE(can_fused_max_pool(input, options)) << what;
  const at::Tensor found = expect_pooled_alike(input, options, what);
  EXPECT_TRUE(can_fused_max_pool(found, {.kernel = 1, .stride = 1})) << what << ": another layout";
}

TEST_F(Pooling, FindsTheMaximaOfLibtorch) {
  const std::vector<MaxPool> windows = {{.kernel = 2, .stride = 2},
                                        {.kernel = 3, .stride = 2},
                                        {.kernel = 3, .stride = 2, .padding = 1},
                                        {.kernel = 3, .stride = 1, .padding = 1},
                                        {.kernel = 2, .stride = 3},
                                        {.kernel = 5, .stride = 4, .padding = 2}};
  const std::vector<std::vector<std::int64_t>> shapes = {
      {1, 1, 5, 5}, {2, 3, 6, 7}, {3, 17, 9, 8}, {2, 64, 14, 13}, {1, 100, 7, 11}, {2, 16, 6, 5, 7}, {1, 33, 8, 8, 8}};
  for (MaxPool window : windows) {
    for (const auto& slope : {std::optional<double>(), std::optional(0.0), std::optional(0.25)}) {
      window.slope = slope;
      for (const auto& shape : shapes) {
        if (shape.size() == 5 && window.kernel == 5) continue;  // 125 places: another test
        for (const auto type : {at::kFloat, at::kBFloat16}) expect_libtorchs(at::randn(shape).to(type), window);
      }
    }
  }
}

TEST_F(Pooling, GivesTheFirstOfEqualValuesTheGradient) {
  for (const auto& slope : {std::optional<double>(), std::optional(0.0), std::optional(0.5)}) {
    expect_libtorchs(at::randint(-1, 2, {2, 20, 9, 9}, at::kFloat),
                     {.kernel = 3, .stride = 2, .padding = 1, .slope = slope});
  }
}

TEST_F(Pooling, KeepsInfinitiesAndNaNs) {
  at::Tensor values = at::randn({1, 20, 8, 8});
  values.select(2, 3).fill_(std::numeric_limits<float>::quiet_NaN());
  values.select(2, 0).fill_(-std::numeric_limits<float>::infinity());
  values.select(2, 1).fill_(-std::numeric_limits<float>::infinity());
  values.select(2, 5).fill_(std::numeric_limits<float>::infinity());
  for (const auto& slope : {std::optional<double>(), std::optional(0.0)}) {
    const at::Tensor input = channels_last(values);
    const at::Tensor found = by_engine(Engine::kFused, input, {.slope = slope});
    const at::Tensor expected = by_engine(Engine::kReference, input, {.slope = slope});
    EXPECT_TRUE(at::equal(found.isnan(), expected.isnan()));
    EXPECT_TRUE(at::equal(found.nan_to_num(), expected.nan_to_num()));
  }
}

TEST_F(Pooling, TakesWindowsOfUpTo128Places) {
  expect_libtorchs(at::randn({1, 18, 6, 7, 5}), {.kernel = 5, .stride = 1, .slope = 0.25});
  expect_libtorchs(at::randn({1, 18, 12, 13}), {.kernel = 11, .stride = 1, .slope = 0});
  const at::Tensor input = channels_last(at::randn({1, 18, 14, 13}));
  EXPECT_FALSE(can_fused_max_pool(input, {.kernel = 12, .stride = 1}));
  EXPECT_EQ(max_pool(input, {.kernel = 12, .stride = 1}).size(2), 3);
}

TEST_F(Pooling, LeavesToLibtorchWhatItCannot) {
  const at::Tensor good = channels_last(at::randn({2, 8, 6, 6}));
  EXPECT_TRUE(can_fused_max_pool(good, {}));
  EXPECT_FALSE(can_fused_max_pool(at::randn({2, 8, 6, 6}), {}));
  EXPECT_FALSE(can_fused_max_pool(good.to(at::kDouble), {}));
  EXPECT_FALSE(can_fused_max_pool(good, {.slope = -0.1}));
  EXPECT_FALSE(can_fused_max_pool(good, {.kernel = 2, .padding = 2}));
  EXPECT_FALSE(can_fused_max_pool(good, {.kernel = 7}));
  EXPECT_FALSE(can_fused_average_pool(at::randn({2, 8, 6, 6})));
}

TEST_F(Pooling, TakesGradientsOfAnyLayout_AndTwice) {
  const at::Tensor input = channels_last(at::randn({2, 8, 6, 6})).requires_grad_();
  const at::Tensor output = max_pool(input, {.slope = 0});
  const at::Tensor gradient = at::randn({2, 8, 3, 3});
  const auto one = torch::autograd::grad({output}, {input}, {gradient}, /*retain_graph=*/true);
  const auto other = torch::autograd::grad({output}, {input}, {channels_last(gradient)});
  EXPECT_TRUE(at::equal(one[0], other[0]));
  EXPECT_TRUE(one[0].is_contiguous(at::MemoryFormat::ChannelsLast));
}

TEST_F(Pooling, RefusesASecondDerivative) {
  const at::Tensor input = channels_last(at::randn({2, 8, 4, 4})).requires_grad_();
  for (const at::Tensor& output : {max_pool(input, {}), global_average_pool(input)}) {
    EXPECT_THAT([&] { torch::autograd::grad({output.sum()}, {input}, {}, true, /*create_graph=*/true); },
                ThrowsMessage<UsageError>(HasSubstr("second derivative")));
  }
}

TEST_F(Pooling, AveragesAsLibtorchDoesInDoubles) {
  for (const auto& shape : {std::vector<std::int64_t>{1, 1, 1, 1}, {3, 17, 7, 5}, {2, 100, 4, 4}, {2, 5, 40, 41}}) {
    for (const auto type : {at::kFloat, at::kBFloat16}) {
      const double rounding = type == at::kFloat ? 1e-6 : 0x1p-8;
      const at::Tensor input = channels_last(at::randn(shape) + 1).to(type).requires_grad_();
      const at::Tensor exact = input.detach().to(at::kDouble).requires_grad_();
      ASSERT_TRUE(can_fused_average_pool(input));
      const at::Tensor found = global_average_pool(input), expected = at::adaptive_avg_pool2d(exact, {1, 1});
      EXPECT_TRUE(found.sizes() == expected.sizes());
      EXPECT_TRUE(found.to(at::kDouble).allclose(expected, rounding, 1e-7));
      const at::Tensor gradient = at::randn_like(found);
      const at::Tensor of_input = torch::autograd::grad({found}, {input}, {gradient})[0];
      EXPECT_TRUE(
          of_input.to(at::kDouble)
              .allclose(torch::autograd::grad({expected}, {exact}, {gradient.to(at::kDouble)})[0], rounding, 1e-9));
      EXPECT_TRUE(of_input.is_contiguous(at::MemoryFormat::ChannelsLast));
    }
  }
}

TEST_F(Pooling, HasTheSameBitsForAnyNumberOfThreads) {
  const int before = at::get_num_threads();
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    const at::Tensor input = channels_last(at::randn({5, 20, 33, 31})).to(type).requires_grad_();
    std::vector<at::Tensor> first;
    for (const int threads : {1, 2, 3}) {
      at::set_num_threads(threads);
      torch::manual_seed(4);
      const at::Tensor maxima = max_pool(input, {.kernel = 3, .padding = 1, .slope = 0}),
                       means = global_average_pool(input);
      const at::Tensor gradient = at::randn(maxima.sizes()).to(type);
      const std::vector<at::Tensor> found = {maxima.detach(), means.detach(),
                                             torch::autograd::grad({maxima}, {input}, {gradient})[0]};
      if (first.empty()) first = found;
      for (std::size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(at::equal(found[i], first[i])) << threads << ", " << i;
    }
  }
  at::set_num_threads(before);
}

// Another level than that of this CPU, on what the public functions gave.
class PoolLevels : public EveryLevel<PoolKernels<float>> {};

TEST_P(PoolLevels, HaveTheSameBits) {
  for (const std::int64_t channels : {1, 3, 8, 17, 64, 100}) {
    for (const double slope : {0.0, 0.25}) {
      const at::Tensor input = channels_last(at::randn({2, channels, 7, 9})).requires_grad_();
      const at::Tensor expected = by_engine(Engine::kReference, input, {.kernel = 3, .padding = 1, .slope = slope});
      const PoolShape shape{.channels = channels,
                            .in = {1, 7, 9},
                            .out = {1, 4, 5},
                            .kernel = {1, 3, 3},
                            .stride = {1, 2, 2},
                            .padding = {0, 1, 1},
                            .act = slope == 0 ? PoolAct::kRelu : PoolAct::kLeakyRelu,
                            .slope = static_cast<float>(slope)};
      const at::Tensor found = at::empty_like(expected);
      std::vector<std::uint8_t> places(static_cast<std::size_t>(found.numel()));
      kernels().max_pool(shape, found.mutable_data_ptr<float>(), places.data(), input.const_data_ptr<float>(), 0,
                         2 * 4);
      EXPECT_TRUE(at::equal(found, expected)) << channels;
      const at::Tensor gradient = channels_last(at::randint(-8, 9, found.sizes(), at::kFloat));
      const at::Tensor of_input = at::empty_like(input);
      kernels().max_pool_gradient(shape, of_input.mutable_data_ptr<float>(), gradient.const_data_ptr<float>(),
                                  places.data(), 0, 2 * 7);
      EXPECT_TRUE(at::equal(of_input, torch::autograd::grad({expected}, {input}, {gradient})[0])) << channels;

      std::vector<float> means(static_cast<std::size_t>(channels));
      const at::Tensor one = input.detach().slice(0, 0, 1);
      kernels().average(means.data(), one.const_data_ptr<float>(), 7 * 9, channels);
      const at::Tensor expected_means = one.mean({0, 2, 3});
      for (std::int64_t c = 0; c < channels; ++c) {
        EXPECT_NEAR(means[static_cast<std::size_t>(c)], expected_means[c].item<float>(), 1e-6);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Levels, PoolLevels,
    ::testing::Values(Level<PoolKernels<float>>{"avx2", &kPoolAvx2.floats, cpu::KernelLevel::kAvx2},
                      Level<PoolKernels<float>>{"avx512", &kPoolAvx512.floats, cpu::KernelLevel::kAvx512}),
    [](const auto& level) { return level.param.name; });

}  // namespace
}  // namespace lockstep::kernels
