#include <lockstep/bench/operations.h>

#include <ATen/ops/conv2d.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <lockstep/bench/step.h>
#include <lockstep/kernels/convolution.h>

#include "one_rank.h"

namespace lockstep::bench {
namespace {

const Operation* find(const Operations& all, const std::string& name) {
  for (const Operation& one : all.operations) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

TEST(Operation, HasTheLongerOfTwoFloors) {
  const Peaks peaks{.gigaflops = 200, .gigabytes = 20};
  EXPECT_EQ((Operation{.gigaflop = 2, .gigabytes = 0.1}.floor(peaks)), 10);
  EXPECT_EQ((Operation{.gigaflop = 2, .gigabytes = 0.4}.floor(peaks)), 20);
  EXPECT_EQ((Operation{.gigabytes = 0.4}.floor(peaks)), 20);
  EXPECT_EQ(Operation{}.floor(peaks), std::nullopt);
}

TEST(Operations, OfLibtorchAreReckonedFromTheirInputs) {
  const at::Tensor a = at::randn({30, 40}), b = at::randn({40, 50});
  const at::Tensor pictures = at::randn({2, 3, 9, 9}), weight = at::randn({8, 3, 3, 3}).requires_grad_();
  const Operations all = record_operations(
      [&] {
        at::mm(a, b);
        at::mm(a, b);
        at::conv2d(pictures, weight, {}, /*stride=*/2, /*padding=*/1).sum().backward();
      },
      3);
  const Operation* product = find(all, "aten::mm");
  ASSERT_NE(product, nullptr);
  EXPECT_EQ(product->calls, 2);
  EXPECT_DOUBLE_EQ(product->gigaflop, 2 * 2.0 * 30 * 40 * 50 / 1e9);
  EXPECT_DOUBLE_EQ(product->gigabytes, 2 * 4.0 * (30 * 40 + 40 * 50 + 30 * 50) / 1e9);
  // 5 x 5 pixels of 8 outputs; backward is asked for the weights alone.
  const Operation *forward = find(all, "aten::mkldnn_convolution"), *backward = find(all, "aten::convolution_backward");
  ASSERT_NE(forward, nullptr);
  ASSERT_NE(backward, nullptr);
  EXPECT_DOUBLE_EQ(forward->gigaflop, 2.0 * 2 * 8 * 5 * 5 * 3 * 9 / 1e9);
  EXPECT_DOUBLE_EQ(backward->gigaflop, forward->gigaflop);
}

TEST(Operations, OfOursSayTheirOwnWork) {
  const at::Tensor weight = at::randn({32, 16, 3, 3}).requires_grad_();
  const at::Tensor input = at::randn({6, 16, 16, 16}).contiguous(at::MemoryFormat::ChannelsLast).requires_grad_();
  const kernels::ConvolutionOptions options{.stride = {1, 1}, .padding = {1, 1}, .dilation = {1, 1}};
  if (!kernels::can_convolve(input, weight, options)) GTEST_SKIP() << "this CPU has not even AVX2";
  const Operations all =
      record_operations([&] { kernels::convolve(input, weight, {}, options).sum().backward(); }, /*steps=*/2);
  for (const char* name :
       {"lockstep::convolution", "lockstep::convolution_input_gradient", "lockstep::convolution_weight_gradient"}) {
    const Operation* one = find(all, name);
    ASSERT_NE(one, nullptr) << name;
    EXPECT_EQ(one->calls, 1);
    EXPECT_DOUBLE_EQ(one->gigaflop, 2.0 * 36 * 6 * 4 * 4 * 16 * 32 / 1e9) << "36 points of 4 x 4 tiles of a picture";
  }
}

TEST(Operations, HaveNoMoreTimeThanTheStep_AndNoneOnceRecordingEnded) {
  const at::Tensor a = at::randn({100, 100});
  int calls = 0;
  const auto step = [&] { calls += static_cast<int>(at::mm(a, a).add_(1).size(0) / 100); };
  const Operations first = record_operations(step, 2);
  EXPECT_EQ(calls, 2);
  EXPECT_GE(first.outside(), 0);
  at::mm(a, a);
  const Operations second = record_operations(step, 1);
  EXPECT_EQ(find(second, "aten::mm")->calls, 1);
}

TEST(Operations, AreInARowEach_TheSmallOnesTogether) {
  const Operations all{.milliseconds = 16,
                       .operations = {{.name = "large", .calls = 2, .milliseconds = 8, .gigaflop = 0.5},
                                      {.name = "small", .calls = 3, .milliseconds = 0.25},
                                      {.name = "smaller", .calls = 1, .milliseconds = 0.25}},
                       .peaks = {.gigaflops = 125, .gigabytes = 20}};
  const auto row = [](const char* name, const nlohmann::json& calls, double time, double share) {
    return nlohmann::json{{"operation", name}, {"calls", calls},        {"milliseconds", time},
                          {"share", share},    {"gigaflops", nullptr},  {"gigabytes_per_second", nullptr},
                          {"floor", nullptr},  {"times_floor", nullptr}};
  };
  nlohmann::json large = row("large", 2, 8, 50);
  large["gigaflops"] = 62.5, large["floor"] = 4, large["times_floor"] = 2;
  EXPECT_EQ(nlohmann::json::parse(operations_table(all, 0.02).to_json()),
            (nlohmann::json{large, row("other operations", 4, 0.5, 3.125),
                            row("outside of operations", nullptr, 7.5, 46.875)}));
}

TEST(Operations, OfAStepAreThoseOfItsModel) {
  const StepOptions options{.model = "mnist",
                            .batch = 2,
                            .modes = {train::Mode::kNone},
                            .rounds = 1,
                            .time_per_round = std::chrono::milliseconds(1),
                            .operations = true};
  const auto rows = measure_step(test::one_rank(), options);
  ASSERT_TRUE(rows.back().operations);
  EXPECT_GT(rows.back().operations->peaks.gigaflops, 0);
  EXPECT_GT(rows.back().operations->peaks.gigabytes, 0);
  EXPECT_NE(find(*rows.back().operations, "aten::_fused_sgd_"), nullptr);
}

}  // namespace
}  // namespace lockstep::bench
