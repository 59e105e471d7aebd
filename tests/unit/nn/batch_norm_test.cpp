#include <lockstep/nn/batch_norm.h>

#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/relu.h>
#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/kernels/engine.h>

namespace lockstep::nn {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// Runs both three times on the same inputs, then once in evaluation.
template <typename Theirs>
void expect_equal(BatchNorm ours, Theirs theirs, at::IntArrayRef shape) {
  for (int step = 0; step < 4; ++step) {
    if (step == 3) {
      ours->eval();
      theirs->eval();
    }
    const at::Tensor input = at::randn(shape);
    EXPECT_TRUE(at::equal(ours(input), theirs(input))) << "step " << step;
  }
  const auto our_buffers = ours->named_buffers(), their_buffers = theirs->named_buffers();
  ASSERT_EQ(our_buffers.keys(), their_buffers.keys());
  for (const auto& buffer : our_buffers) {
    EXPECT_TRUE(at::equal(buffer.value(), their_buffers[buffer.key()])) << buffer.key();
  }
}

// With the engine reference, which calls what torch's modules call.
class ReferenceBatchNorm : public ::testing::Test {
 protected:
  void SetUp() override { kernels::set_engine(kernels::Engine::kReference); }
  void TearDown() override { kernels::set_engine(kernels::Engine::kFused); }
};

TEST_F(ReferenceBatchNorm, IsTorchsForEveryNumberOfDimensions) {
  expect_equal(BatchNorm(5), torch::nn::BatchNorm1d(5), {6, 5});
  expect_equal(BatchNorm(5), torch::nn::BatchNorm1d(5), {6, 5, 3});
  expect_equal(BatchNorm(5), torch::nn::BatchNorm2d(5), {6, 5, 3, 2});
  expect_equal(BatchNorm(5), torch::nn::BatchNorm3d(5), {6, 5, 3, 2, 2});
}

TEST_F(ReferenceBatchNorm, IsTorchsForEveryOption) {
  const auto options = [] { return torch::nn::BatchNormOptions(5); };
  for (const auto& chosen : {options().momentum(std::nullopt), options().affine(false),
                             options().track_running_stats(false), options().eps(0.1).momentum(0.3)}) {
    expect_equal(BatchNorm(chosen), torch::nn::BatchNorm2d(chosen), {6, 5, 3, 2});
  }
}

TEST(BatchNorm, IsTheSameWithEitherEngine_WithWhatFollows) {
  at::manual_seed(3);  // large values that nearly cancel out are rounded by more than is allowed here
  const at::Tensor input = at::randn({6, 5, 3, 2}).contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor shortcut = at::randn({6, 5, 3, 2}).contiguous(at::MemoryFormat::ChannelsLast);
  for (const bool trains : {true, false}) {
    const auto run = [&](kernels::Engine engine) {
      kernels::set_engine(engine);
      BatchNorm norm(5);
      norm->train(trains);
      const at::NoGradGuard no_gradients;
      at::Tensor output = norm->forward_then(input, {.shortcut = shortcut, .relu = true});
      kernels::set_engine(kernels::Engine::kFused);
      return std::pair(output, norm->running_var);
    };
    const auto [fused, fused_variance] = run(kernels::Engine::kFused);
    const auto [reference, variance] = run(kernels::Engine::kReference);
    EXPECT_TRUE(fused.allclose(reference, 1e-5, 1e-6));
    EXPECT_TRUE(fused_variance.allclose(variance, 1e-5));
  }
}

TEST(BatchNorm, RefusesInputsThatDoNotFit) {
  BatchNorm norm(5);
  EXPECT_THAT([&] { norm(at::randn({5})); }, ThrowsMessage<UsageError>(HasSubstr("the second is 5")));
  EXPECT_THAT([&] { norm(at::randn({2, 4})); }, ThrowsMessage<UsageError>(HasSubstr("[2, 4]")));
  EXPECT_THAT([&] { norm(at::randn({1, 5})); }, ThrowsMessage<UsageError>(HasSubstr("more than 1 value per channel")));
}

TEST(BatchNorm, NormalizesAsItIsTold_WhileItTrains) {
  BatchNorm norm(5);
  norm->set_normalizer([](const at::Tensor& input, const BatchNormState& state) { return input + state.momentum; });
  const at::Tensor input = at::randn({2, 5});
  EXPECT_TRUE(at::equal(norm(input), input + 0.1));
  EXPECT_TRUE(at::equal(norm->forward_then(input, {.shortcut = input, .relu = true}), at::relu(input + 0.1 + input)));
  norm->eval();
  EXPECT_TRUE(norm(input).allclose(input, 1e-4));
}

}  // namespace
}  // namespace lockstep::nn
