#include <lockstep/kernels/dropout.h>

#include <cmath>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randn_like.h>
#include <ATen/ops/where.h>
#include <gmock/gmock.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/utils.h>

#include <lockstep/base/errors.h>
#include <lockstep/kernels/engine.h>

#include "kernels/cpu/dropout.h"
#include "kernels/cpu/dropout_kernels.h"
#include "levels.h"

namespace lockstep::kernels {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class Dropout : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cpu::kernel_level() == cpu::KernelLevel::kBase) GTEST_SKIP() << "this CPU has no AVX2";
    torch::manual_seed(1);
  }
  void TearDown() override { set_engine(Engine::kFused); }
};

TEST_F(Dropout, KeepsValuesScaled_AndPassesTheirGradients) {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    const at::Tensor input = at::randn({37, 1001}).to(type).requires_grad_();
    ASSERT_TRUE(can_fused_dropout(input, 0.75));
    const at::Tensor output = dropout(input, 0.75);
    const at::Tensor kept = output != 0;
    EXPECT_TRUE(at::equal(output, at::where(kept, input * 4, 0)));
    const at::Tensor gradient = at::randn_like(input);
    for (int i = 0; i < 2; ++i) {
      const auto found = torch::autograd::grad({output}, {input}, {gradient}, /*retain_graph=*/true);
      EXPECT_TRUE(at::equal(found[0], at::where(kept, gradient * 4, 0)));
    }
  }
}

TEST_F(Dropout, DropsTheSameOfBfloat16_AndRoundsAsLibtorch) {
  const at::Tensor input = at::randn({1001}).to(at::kBFloat16);
  torch::manual_seed(9);
  const at::Tensor found = dropout(input, 0.3);
  torch::manual_seed(9);
  EXPECT_TRUE(at::equal(found, dropout(input.to(at::kFloat), 0.3).to(at::kBFloat16)));
}

// Of places near each other, in rows and columns, as many are dropped together as by chance; within 5 deviations.
TEST_F(Dropout, DropsAsOftenAsItIsTold_AndEachValueForItself) {
  constexpr std::int64_t kRows = 512, kColumns = 4096;
  constexpr double kCount = kRows * kColumns;
  for (const double probability : {0.1, 0.5, 0.9}) {
    const at::Tensor dropped = dropout(at::ones({kRows, kColumns}), probability) == 0;
    const auto expect_share = [&](const at::Tensor& found, double share) {
      const double deviation = std::sqrt(share * (1 - share) / kCount);
      EXPECT_NEAR(found.to(at::kDouble).mean().item<double>(), share, 5 * deviation) << probability;
    };
    expect_share(dropped, probability);
    for (const std::int64_t apart : {1, 2, 16, 64}) {
      expect_share(dropped & dropped.roll(apart, 1), probability * probability);
      expect_share(dropped & dropped.roll(apart, 0), probability * probability);
    }
    const at::Tensor next = dropout(at::ones({kRows, kColumns}), probability) == 0;
    expect_share(dropped & next, probability * probability);
  }
}

TEST_F(Dropout, FollowsLibtorchsGenerator_NotTheThreads) {
  const int before = at::get_num_threads();
  const at::Tensor input = at::ones({50'001});
  std::vector<at::Tensor> outputs;
  for (const int threads : {1, 2, 3}) {
    at::set_num_threads(threads);
    torch::manual_seed(9);
    outputs.push_back(dropout(input, 0.5));
  }
  at::set_num_threads(before);
  EXPECT_TRUE(at::equal(outputs[0], outputs[1]));
  EXPECT_TRUE(at::equal(outputs[0], outputs[2]));
  EXPECT_FALSE(at::equal(outputs[0], dropout(input, 0.5)));
}

TEST_F(Dropout, LeavesToLibtorchWhatItCannot) {
  EXPECT_TRUE(can_fused_dropout(at::ones({4}), 0.5));
  EXPECT_FALSE(can_fused_dropout(at::ones({4}), 0));
  EXPECT_FALSE(can_fused_dropout(at::ones({4}), 1));
  EXPECT_FALSE(can_fused_dropout(at::ones({4}, at::kDouble), 0.5));
  EXPECT_FALSE(can_fused_dropout(at::ones({4, 4}).select(1, 0), 0.5));
  EXPECT_TRUE(at::equal(dropout(at::ones({4}), 0), at::ones({4})));
  EXPECT_EQ(dropout(at::ones({4}), 1).sum().item<float>(), 0);
}

TEST_F(Dropout, RefusesASecondDerivative) {
  const at::Tensor input = at::randn({8}).requires_grad_();
  EXPECT_THAT([&] { torch::autograd::grad({dropout(input, 0.5).sum()}, {input}, {}, true, /*create_graph=*/true); },
              ThrowsMessage<UsageError>(HasSubstr("second derivative")));
}

class DropoutLevels : public EveryLevel<DropoutLevel> {};

// The same places as plain arithmetic drops, at odd lengths too and in place.
TEST_P(DropoutLevels, DropTheSameValues) {
  const auto mix = [](std::uint32_t x) {
    x = (x ^ (x >> 16)) * 0x7feb352dU;
    x = (x ^ (x >> 15)) * 0x846ca68bU;
    return x ^ (x >> 16);
  };
  constexpr std::uint64_t kKey = 0x0123456789abcdefULL;
  for (const std::uint32_t count : {1U, 7U, 16U, 33U, 1000U}) {
    std::vector<float> values(count, 3), in_place = values, found(count);
    std::vector<Bfloat16> halves(count, Bfloat16{0x4040});  // 3
    kernels().bfloats.drop(halves.data(), halves.data(), count, kKey, 1U << 31, 2);
    kernels().floats.drop(found.data(), values.data(), count, kKey, 1U << 31, 2);
    kernels().floats.drop(in_place.data(), in_place.data(), count, kKey, 1U << 31, 2);
    EXPECT_EQ(in_place, found);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t hash =
          mix(mix(i + static_cast<std::uint32_t>(kKey)) ^ static_cast<std::uint32_t>(kKey >> 32));
      ASSERT_EQ(found[i], hash < 1U << 31 ? 0 : 6) << i << " of " << count;
      ASSERT_EQ(halves[i].bits, hash < 1U << 31 ? 0 : 0x40C0) << i << " of " << count;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, DropoutLevels,
                         ::testing::Values(Level<DropoutLevel>{"avx2", &kDropoutAvx2, cpu::KernelLevel::kAvx2},
                                           Level<DropoutLevel>{"avx512", &kDropoutAvx512, cpu::KernelLevel::kAvx512}),
                         [](const auto& level) { return level.param.name; });

}  // namespace
}  // namespace lockstep::kernels
