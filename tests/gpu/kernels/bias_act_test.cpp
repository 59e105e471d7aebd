// A bias and the ReLU after it by the fused engine on a GPU, against float64.
#include <lockstep/gpu/settings.h>
#include <lockstep/kernels/bias_act.h>
#include <lockstep/kernels/engine.h>
#include <lockstep/nn/conv_norm_act.h>
#include <lockstep/nn/layout.h>

#include "kernels/cuda/bias_act.h"
#include "no_waiting.h"
#include "norm_cases.h"

namespace lockstep::kernels {
namespace {

class CudaBias : public OnGpu {};

at::Tensor random_bias(std::int64_t channels) {
  return torch::randn({channels}, at::kCUDA).requires_grad_();
}

// The input may be written over, and a leaf may not.
at::Tensor made_of(const at::Tensor& leaf) {
  return leaf * 1;
}

void expect_doubles(const at::Tensor& leaf, const at::Tensor& bias, bool relu) {
  const std::string what = c10::str(leaf.sizes(), " ", leaf.scalar_type(), relu ? ", ReLU" : "");
  const at::Tensor exact_leaf = in_double(leaf), exact_bias = in_double(bias);
  const at::Tensor expected = bias_act(made_of(exact_leaf), exact_bias, relu);
  const at::Tensor found = bias_act(made_of(leaf), bias, relu), gradient = torch::randn_like(found);
  expect_close(found, expected, tolerance_of(leaf.scalar_type()), what);
  EXPECT_EQ(found.scalar_type(), leaf.scalar_type());

  const at::Tensor kept = gradient.clone();
  const auto of = torch::autograd::grad({found}, {leaf, bias}, {gradient});
  const auto wanted = torch::autograd::grad({expected}, {exact_leaf, exact_bias}, {gradient.to(at::kDouble)});
  EXPECT_TRUE(at::equal(gradient, kept)) << what;  // it is not the backward pass's to write over
  EXPECT_TRUE(at::equal(of[0].to(at::kDouble), wanted[0])) << what;
  expect_close(of[1], wanted[1], tolerance_of(at::kFloat), what);
}

TEST_F(CudaBias, IsAddedAndRectifiedAsInDoubles) {
  const std::vector<std::vector<std::int64_t>> shapes = {{3, 8, 5, 7},     {1, 24, 1, 1},    {2, 72, 9, 4},
                                                         {8, 192, 13, 13}, {2, 16, 3, 5, 6}, {7, 40},
                                                         {3, 1032, 2, 2},  {16, 64, 27, 27}};
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    for (const auto& shape : shapes) {
      for (const bool relu : {false, true}) {
        const at::Tensor leaf = random_batch(shape, type).requires_grad_(), bias = random_bias(shape[1]);
        ASSERT_TRUE(can_bias_act(bias) && can_cuda_bias_act(leaf, bias)) << c10::str(shape);
        expect_doubles(leaf, bias, relu);
      }
    }
  }
}

TEST_F(CudaBias, IsLibtorchsWhereThereIsNoKernel) {
  const auto expect_libtorchs = [](const at::Tensor& input, const at::Tensor& bias) {
    ASSERT_FALSE(can_cuda_bias_act(input, bias));
    const at::Tensor sum = input + bias.to(input.scalar_type()).view({1, -1, 1, 1});
    EXPECT_TRUE(at::equal(bias_act(input.clone(), bias, true), at::relu(sum)));
  };
  EXPECT_FALSE(can_bias_act(random_bias(12)));
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    expect_libtorchs(random_batch({3, 12, 5, 7}, type), random_bias(12));
  }
  expect_libtorchs(torch::randn({3, 16, 5, 7}, at::kCUDA), random_bias(16));  // channels are not last
}

TEST_F(CudaBias, IsAddedInPlace) {
  const at::Tensor leaf = random_batch({4, 16, 9, 9}, at::kBFloat16).requires_grad_(), input = made_of(leaf);
  EXPECT_EQ(bias_act(input, random_bias(16), true).const_data_ptr(), input.const_data_ptr());
}

TEST_F(CudaBias, LetsValuesByThatAreNone) {
  const at::Tensor input = random_batch({2, 8, 3, 3}, at::kFloat);
  input[0][3][1][1] = std::numeric_limits<float>::quiet_NaN();
  const at::Tensor output = bias_act(input.clone(), random_bias(8), true);
  EXPECT_TRUE(at::equal(output.isnan(), input.isnan()));
}

TEST_F(CudaBias, GivesOnlyTheGradientsThatAreWanted) {
  const at::Tensor input = random_batch({4, 16, 9, 9}, at::kBFloat16), bias = random_bias(16);
  const at::Tensor weights = torch::randn_like(input);
  for (const bool relu : {false, true}) {
    const auto gradients = [&](bool of_input, bool of_bias) {
      const at::Tensor x = input.detach().clone().requires_grad_(of_input);
      const at::Tensor b = bias.detach().clone().requires_grad_(of_bias);
      (bias_act(made_of(x), b, relu) * weights).sum().backward();
      return std::pair(x.grad(), b.grad());
    };
    const auto [of_input, of_bias] = gradients(true, true);
    EXPECT_TRUE(at::equal(gradients(true, false).first, of_input));
    EXPECT_TRUE(at::equal(gradients(false, true).second, of_bias));  // and the same bits again
  }
}

TEST_F(CudaBias, DoesNotMakeTheHostWait) {
  const at::Tensor leaf = random_batch({4, 16, 9, 9}, at::kFloat).requires_grad_(), bias = random_bias(16);
  const test::NoWaiting no_waiting;
  bias_act(made_of(leaf), bias, true).sum().backward();
}

// The gradients of input, weight and bias of a convolution with a ReLU, and a pooling if `pools`.
std::vector<at::Tensor> convolved(Engine engine, at::ScalarType type, bool relu, bool pools) {
  set_engine(engine);
  torch::manual_seed(3);
  const auto owner = std::make_shared<torch::nn::Module>();
  nn::ConvNormAct block(*owner, torch::nn::Conv2dOptions(8, 24, 3).padding(1), {.convolution = "c", .relu = relu});
  const at::Tensor input = channels_last(torch::randn({4, 8, 13, 13}).to(at::kCUDA, type)).requires_grad_();
  owner->to(at::kCUDA, type);
  nn::to_channels_last(*owner);
  const MaxPool pool{.kernel = 3, .slope = relu ? std::nullopt : std::optional(0.0), .owns_input = true};
  const at::Tensor output = pools ? block.forward_then_pool(input, pool) : block.forward(input);
  const at::Tensor weights = torch::randn(output.sizes()).to(at::kCUDA, type);
  (output * weights).sum().backward();
  set_engine(Engine::kFused);
  return {output, input.grad(), owner->parameters()[0].grad(), owner->parameters()[1].grad()};
}

TEST_F(CudaBias, OfAConvolutionIsTakenOverByWhatFollows) {
  const gpu::SettingsGuard plain({.tf32_matmul = false, .tf32_convolutions = false});
  for (const auto& [relu, pools] : {std::pair(true, false), {false, false}, {true, true}, {false, true}}) {
    const std::string what = c10::str("ReLU ", relu, ", pools ", pools);
    const auto expected = convolved(Engine::kReference, at::kDouble, relu, pools);
    const auto found = convolved(Engine::kFused, at::kFloat, relu, pools);
    for (std::size_t i = 0; i < found.size(); ++i) expect_close(found[i], expected[i], 1e-4, what);
  }
}

}  // namespace
}  // namespace lockstep::kernels
