#include <lockstep/amp/prepare.h>

#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/log.h>
#include <lockstep/nn/batch_norm.h>

#include "throws_with.h"

namespace lockstep::test {
namespace {

const amp::Precision kO2 = amp::parse_precision("O2", {.dtype = at::kBFloat16});
const amp::Precision kO3 = amp::parse_precision("O3", {.dtype = at::kBFloat16});

// A normalization that nobody but its author knows.
struct OwnNormImpl : torch::nn::Module {
  at::Tensor weight = register_parameter("weight", torch::ones({4}));
  at::Tensor mean = register_buffer("running_mean", torch::zeros({4}));
  at::Tensor variance = register_buffer("running_var", torch::ones({4}));
};
TORCH_MODULE(OwnNorm);

struct NetImpl : torch::nn::Module {
  at::Tensor forward(const at::Tensor& x) {
    return last(torch::relu(theirs(second(torch::relu(ours(first(x)))))).mean({2, 3}));
  }
  torch::nn::Conv2d first = register_module("first", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 4, 3)));
  nn::BatchNorm ours = register_module("ours", nn::BatchNorm(torch::nn::BatchNormOptions(4)));
  torch::nn::Conv2d second = register_module("second", torch::nn::Conv2d(torch::nn::Conv2dOptions(4, 4, 3)));
  torch::nn::BatchNorm2d theirs = register_module("theirs", torch::nn::BatchNorm2d(4));
  torch::nn::BatchNorm1d without_statistics = register_module(
      "without_statistics", torch::nn::BatchNorm1d(torch::nn::BatchNorm1dOptions(4).track_running_stats(false)));
  OwnNorm own = register_module("own", OwnNorm());
  torch::nn::LayerNorm layer = register_module("layer", torch::nn::LayerNorm(torch::nn::LayerNormOptions({4})));
  torch::nn::Linear last = register_module("last", torch::nn::Linear(4, 2));
};
TORCH_MODULE(Net);

TEST(Prepare, O2CastsAllButBatchNormalizations) {
  Net net;
  amp::prepare(*net, kO2);
  for (const auto& tensors : {net->named_parameters(), net->named_buffers()}) {
    for (const auto& tensor : tensors) {
      const std::string part = tensor.key().substr(0, tensor.key().find('.'));
      const bool low = part == "first" || part == "second" || part == "layer" || part == "last";
      const bool counts = tensor.key().ends_with("num_batches_tracked");
      EXPECT_EQ(tensor->scalar_type(), counts ? at::kLong : low ? at::kBFloat16 : at::kFloat) << tensor.key();
    }
  }
}

TEST(Prepare, O3CastsAllAndO0AndO1Nothing) {
  Net net;
  amp::prepare(*net, amp::parse_precision("O0"));
  amp::prepare(*net, amp::parse_precision("bf16"));
  for (const auto& parameter : net->parameters()) EXPECT_EQ(parameter.scalar_type(), at::kFloat);
  amp::prepare(*net, kO3);
  for (const auto& parameter : net->parameters()) EXPECT_EQ(parameter.scalar_type(), at::kBFloat16);
  EXPECT_EQ(net->ours->running_mean.scalar_type(), at::kBFloat16);
  EXPECT_EQ(net->ours->num_batches_tracked.scalar_type(), at::kLong);
}

TEST(Prepare, ParametersStayTheTensorsThatOthersHold) {
  Net net;
  net->last->weight.requires_grad_(false);
  const auto before = net->parameters();
  amp::prepare(*net, kO2);
  const auto after = net->parameters();
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(before[i].is_same(after[i]));
  EXPECT_TRUE(net->first->weight.is_leaf());
  EXPECT_TRUE(net->first->weight.requires_grad());
  EXPECT_FALSE(net->last->weight.requires_grad());
}

TEST(Prepare, KeepsTheLayoutOfAParameter) {
  Net net;
  net->first->weight.set_data(net->first->weight.contiguous(at::MemoryFormat::ChannelsLast));
  amp::prepare(*net, kO2);
  EXPECT_TRUE(net->first->weight.is_contiguous(at::MemoryFormat::ChannelsLast));
}

// Convolutions in bf16 hand their output to normalizations in fp32, and back.
TEST(Prepare, APreparedNetTrains) {
  for (const auto& precision : {kO2, kO3}) {
    Net net;
    amp::prepare(*net, precision);
    const auto output = net->forward(amp::cast_input(torch::randn({8, 3, 8, 8}), precision));
    EXPECT_EQ(output.scalar_type(), at::kBFloat16);
    amp::cast_output(output).square().mean().backward();
    EXPECT_EQ(net->first->weight.grad().scalar_type(), at::kBFloat16);
    EXPECT_EQ(net->ours->weight.grad().scalar_type(), precision.keep_batchnorm_fp32 ? at::kFloat : at::kBFloat16);
    EXPECT_TRUE(net->first->weight.grad().isfinite().all().item<bool>());
    EXPECT_NE(net->ours->running_mean.abs().sum().item<float>(), 0);
  }
}

TEST(Prepare, RefusesFp16OnACpuWithoutItAndChangesNothing) {
  try {
    amp::require_type(at::kCPU, at::kHalf);
    GTEST_SKIP() << "this CPU has fp16";
  } catch (const UsageError&) {
  }
  Net net;
  for (const char* level : {"O1", "O2", "O3"}) {
    EXPECT_THAT([&] { amp::prepare(*net, amp::parse_precision(level)); }, ThrowsWith<UsageError>("use bf16")) << level;
  }
  EXPECT_EQ(net->first->weight.scalar_type(), at::kFloat);
  EXPECT_NO_THROW(amp::require_type(at::kCUDA, at::kHalf));
}

TEST(Prepare, InputsAreCastIfTheyAreOfFloatingPoint) {
  EXPECT_EQ(amp::cast_input(torch::ones({2}), kO2).scalar_type(), at::kBFloat16);
  EXPECT_EQ(amp::cast_input(torch::ones({2}, at::kLong), kO2).scalar_type(), at::kLong);
  const auto images = torch::ones({2});
  EXPECT_TRUE(amp::cast_input(images, amp::parse_precision("O1")).is_same(images));
  EXPECT_EQ(amp::cast_output(torch::ones({2}, at::kHalf)).scalar_type(), at::kFloat);
  EXPECT_EQ(amp::cast_output(torch::ones({2}, at::kDouble)).scalar_type(), at::kDouble);
}

TEST(HintBatchSize, IsGivenOnceAndOnlyIn16Bits) {
  ::testing::internal::CaptureStderr();
  log::configure({});
  amp::hint_batch_size(30, amp::parse_precision("O0"));
  amp::hint_batch_size(32, kO2);
  amp::hint_batch_size(30, kO2);
  amp::hint_batch_size(31, kO2);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "hint: a batch of 30 is no multiple of 8; in 16 bits, 32 would use matrix units wholly\n");
}

}  // namespace
}  // namespace lockstep::test
