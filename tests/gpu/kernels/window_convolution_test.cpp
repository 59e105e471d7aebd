// Convolutions with 3 x 3 weights that are our own kernels on a GPU, against libtorch's in double precision.
#include <ATen/ops/convolution.h>

#include <lockstep/kernels/convolution.h>

#include "kernels/cuda/convolution.h"
#include "norm_cases.h"

namespace lockstep::kernels {
namespace {

class CudaWindowConvolution : public OnGpu {};

const ConvolutionOptions kOptions{.stride = {1, 1}, .padding = {1, 1}, .dilation = {1, 1}};

at::Tensor weights(std::int64_t channels = 64) {
  const at::Tensor values =
      torch::randn({channels, channels, 3, 3}, at::kCUDA) / std::sqrt(9.0 * static_cast<double>(channels));
  return channels_last(values.to(at::kBFloat16)).requires_grad_();
}

at::Tensor exact(const at::Tensor& input, const at::Tensor& weight) {
  return at::convolution(input, weight, {}, {1, 1}, {1, 1}, {1, 1}, false, {0, 0}, 1);
}

double worst_place(const at::Tensor& found, const at::Tensor& expected) {
  const at::Tensor errors = (found.to(at::kDouble) - expected).square().sum(1).max();
  return (errors / expected.square().sum(1).mean()).sqrt().item<double>();
}

// Whole tiles, parts of tiles in both directions, more tiles than blocks, tiles of 28 columns and of 32; then pictures
// that are stacked: stacks that are full and one that is not, rows at the edge alone and others, several tiles a block.
TEST_F(CudaWindowConvolution, EqualsDoublePrecisionAtEveryPlace) {
  for (const std::vector<std::int64_t>& shape : std::vector<std::vector<std::int64_t>>{{1, 64, 8, 32},
                                                                                       {3, 64, 32, 32},
                                                                                       {2, 64, 13, 30},
                                                                                       {2, 64, 30, 61},
                                                                                       {5, 64, 28, 28},
                                                                                       {7, 64, 56, 56},
                                                                                       {150, 64, 32, 32},
                                                                                       {3, 128, 8, 32},
                                                                                       {70, 128, 24, 48},
                                                                                       {127, 128, 16, 16},
                                                                                       {300, 128, 6, 16},
                                                                                       {512, 128, 16, 16},
                                                                                       {250, 256, 8, 8},
                                                                                       {510, 512, 4, 4},
                                                                                       {1000, 512, 4, 4}}) {
    SCOPED_TRACE(c10::str(shape));
    const at::Tensor input = random_batch(shape, at::kBFloat16, 0.2).requires_grad_(), weight = weights(shape[1]);
    ASSERT_TRUE(can_window_convolve(input, weight, kOptions));
    const at::Tensor output = convolve(input, weight, {}, kOptions);
    const at::Tensor gradient = random_batch(shape, at::kBFloat16);
    output.backward(gradient);
    const at::Tensor exact_input = in_double(input), exact_weight = in_double(weight);
    const at::Tensor expected = exact(exact_input, exact_weight);
    expected.backward(gradient.to(at::kDouble));
    // A rounding to bfloat16, of values that are about as large as one another.
    EXPECT_LT(worst_place(output, expected), 0.01);
    EXPECT_LT(worst_place(input.grad(), exact_input.grad()), 0.01);
    EXPECT_LT(worst_place(weight.grad(), exact_weight.grad()), 0.01);
  }
}

// Also where the mean is far from 0, which costs plain sums of squares their digits.
TEST_F(CudaWindowConvolution, KnowsTheStatisticsOfItsResult) {
  for (const double mean : {0.0, 30.0}) {
    for (const std::vector<std::int64_t>& shape : std::vector<std::vector<std::int64_t>>{{3, 64, 13, 30},
                                                                                         {40, 64, 32, 32},
                                                                                         {9, 64, 56, 56},
                                                                                         {512, 128, 16, 16},
                                                                                         {250, 256, 8, 8},
                                                                                         {1000, 512, 4, 4}}) {
      SCOPED_TRACE(c10::str(shape, " with mean ", mean));
      const at::Tensor output = convolve(random_batch(shape, at::kBFloat16, mean), weights(shape[1]), {}, kOptions);
      const at::Tensor parts = known_of_window_convolve(output).to(at::kDouble);
      const at::Tensor counts = parts.select(2, 3), means = parts.select(2, 0) + parts.select(2, 1);
      const at::Tensor all = counts.sum(0), whole_mean = (means * counts).sum(0) / all;
      const at::Tensor squares = (parts.select(2, 2) + counts * (means - whole_mean).square()).sum(0);
      const at::Tensor exact_output = output.to(at::kDouble);
      EXPECT_TRUE(all.eq(output.numel() / shape[1]).all().item<bool>());
      const at::Tensor deviation = exact_output.std({0, 2, 3}, false);
      EXPECT_LT(((whole_mean - exact_output.mean({0, 2, 3})) / deviation).abs().max().item<double>(), 2e-3);
      EXPECT_LT(((squares / all).sqrt() / deviation - 1).abs().max().item<double>(), 2e-3);
    }
  }
}

const std::vector<std::vector<std::int64_t>> kBatches{{130, 64, 32, 32}, {250, 256, 8, 8}};

TEST_F(CudaWindowConvolution, IsNormalizedAsAnyOther) {
  for (const std::vector<std::int64_t>& shape : kBatches) {
    const std::int64_t channels = shape[1];
    const at::Tensor input = random_batch(shape, at::kBFloat16, 0.5).requires_grad_(), weight = weights(channels);
    const at::Tensor shortcut = random_batch(shape, at::kBFloat16);
    for (const bool adds : {false, true}) {
      SCOPED_TRACE(c10::str(shape, adds ? " with a shortcut" : ""));
      const BatchNormState state = make_state(channels), exact_state = in_double(state);
      const NormAct options{.shortcut = adds ? shortcut : at::Tensor(), .relu = true};
      const NormAct exact_options{.shortcut = adds ? in_double(shortcut) : at::Tensor(), .relu = true};
      const at::Tensor output = batch_norm_act(convolve(input, weight, {}, kOptions), state, options);
      const at::Tensor expected = reference(exact(in_double(input), in_double(weight)), exact_state, exact_options);
      EXPECT_LT(worst_place(output, expected), 0.02);
      EXPECT_LT((state.running_mean.to(at::kDouble) - exact_state.running_mean).abs().max().item<double>(), 1e-3);
      EXPECT_LT((state.running_var.to(at::kDouble) / exact_state.running_var - 1).abs().max().item<double>(), 5e-3);
    }
  }
}

TEST_F(CudaWindowConvolution, TwiceGivesTheSameBits) {
  for (const std::vector<std::int64_t>& shape : kBatches) {
    SCOPED_TRACE(c10::str(shape));
    const at::Tensor weight = weights(shape[1]), gradient = random_batch(shape, at::kBFloat16);
    const at::Tensor input = random_batch(shape, at::kBFloat16).requires_grad_();
    std::vector<std::vector<at::Tensor>> runs;
    for (int run = 0; run < 2; ++run) {
      const at::Tensor output = convolve(input, weight, {}, kOptions);
      runs.push_back(torch::autograd::grad({output}, {input, weight}, {gradient}));
      runs.back().push_back(output);
      runs.back().push_back(known_of_window_convolve(output));
    }
    for (std::size_t i = 0; i < runs[0].size(); ++i) EXPECT_TRUE(runs[0][i].equal(runs[1][i])) << i;
  }
}

TEST_F(CudaWindowConvolution, LeavesOthersAlone) {
  const at::Tensor weight = weights();
  const auto takes = [&](const at::Tensor& input, const at::Tensor& its_weight, const ConvolutionOptions& options) {
    return can_window_convolve(input, its_weight, options);
  };
  const at::Tensor input = random_batch({2, 64, 32, 32}, at::kBFloat16);
  EXPECT_TRUE(takes(input, weight, kOptions));
  EXPECT_FALSE(takes(input.contiguous(), weight, kOptions)) << "channels first";
  EXPECT_FALSE(takes(input.to(at::kHalf), weight.to(at::kHalf), kOptions));
  EXPECT_FALSE(takes(random_batch({2, 64, 9, 33}, at::kBFloat16), weight, kOptions)) << "tiles that are empty";
  EXPECT_FALSE(takes(input, weight.contiguous(), kOptions)) << "weights with channels first";
  ConvolutionOptions strided = kOptions;
  strided.stride = {2, 2};
  EXPECT_FALSE(takes(input, weight, strided));
  EXPECT_FALSE(takes(random_batch({2, 128, 16, 32}, at::kBFloat16), weight, kOptions)) << "other weights";
  EXPECT_FALSE(takes(random_batch({2, 128, 14, 14}, at::kBFloat16), weights(128), kOptions)) << "tiles that are empty";
  EXPECT_FALSE(takes(random_batch({2, 256, 16, 32}, at::kBFloat16), weights(256), kOptions));
  EXPECT_TRUE(takes(random_batch({256, 256, 8, 8}, at::kBFloat16), weights(256), kOptions));
  EXPECT_FALSE(takes(random_batch({256, 256, 8, 12}, at::kBFloat16), weights(256), kOptions)) << "no whole stacks";
  EXPECT_FALSE(takes(random_batch({256, 256, 7, 8}, at::kBFloat16), weights(256), kOptions)) << "half a tile";
  EXPECT_FALSE(takes(random_batch({64, 256, 8, 8}, at::kBFloat16), weights(256), kOptions)) << "too few tiles";
}

}  // namespace
}  // namespace lockstep::kernels
