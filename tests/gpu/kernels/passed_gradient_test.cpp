// Convolutions with 3 x 3 weights and 64 channels behind a batch normalization with a ReLU: the gradient goes through
// that ReLU where it is made. Against libtorch's operations in double precision.
#include <ATen/ops/convolution.h>

#include <lockstep/base/errors.h>
#include <lockstep/kernels/convolution.h>

#include "norm_cases.h"

namespace lockstep::kernels {
namespace {

class CudaPassedGradient : public OnGpu {};

using Shape = std::vector<std::int64_t>;
using torch::autograd::variable_list;

const ConvolutionOptions kOptions{.stride = {1, 1}, .padding = {1, 1}, .dilation = {1, 1}};

at::Tensor weights() {
  return channels_last((torch::randn({64, 64, 3, 3}, at::kCUDA) / 24).to(at::kBFloat16)).requires_grad_();
}

at::Tensor exact_convolution(const at::Tensor& input, const at::Tensor& weight) {
  return at::convolution(input, weight, {}, {1, 1}, {1, 1}, {1, 1}, false, {0, 0}, 1);
}

// A block as in a residual net: what is normalized is read by a convolution and, as a shortcut, behind it.
struct Block {
  Block(const Shape& shape, bool adds)
      : input(random_batch(shape, at::kBFloat16, 0.3).requires_grad_()),
        added(adds ? random_batch(shape, at::kBFloat16).requires_grad_() : at::Tensor()),
        weight(weights()),
        before(make_state(64)),
        behind(make_state(64)),
        gradient(random_batch(shape, at::kBFloat16)) {}

  variable_list leaves() const {
    variable_list all{input, before.weight, before.bias, weight};
    if (added.defined()) all.push_back(added);
    return all;
  }
  NormAct first_options() const { return {.shortcut = added, .relu = true}; }

  Block in_double() const {
    Block exact = *this;
    exact.input = kernels::in_double(input);
    if (added.defined()) exact.added = kernels::in_double(added);
    exact.weight = kernels::in_double(weight);
    exact.before = kernels::in_double(before);
    exact.behind = kernels::in_double(behind);
    exact.gradient = gradient.to(at::kDouble);
    return exact;
  }

  at::Tensor input, added, weight;
  BatchNormState before, behind;
  at::Tensor gradient;
};

variable_list gradients_of(const at::Tensor& output, const Block& block) {
  return torch::autograd::grad({output}, block.leaves(), {block.gradient});
}

// `rounding`: what all roundings to bfloat16 together may come to, beside the usual value.
void expect_gradients(const variable_list& found, const variable_list& expected, double rounding = 0.01) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    const at::Tensor error = found[i].to(at::kDouble) - expected[i];
    EXPECT_LT((error.norm() / expected[i].norm()).item<double>(), rounding) << "gradient " << i;
    EXPECT_LT((error.abs().max() / expected[i].abs().max()).item<double>(), 3 * rounding) << "gradient " << i;
  }
}

// Whether the gradient of `result` comes as far as its ReLU let it by: so it was made with the sums.
struct Watched {
  explicit Watched(const at::Tensor& result) {
    result.register_hook([this, is_zero = result.detach() == 0](const at::Tensor& gradient) {
      passed = !gradient.masked_select(is_zero).any().item<bool>();
    });
  }
  bool passed = false;
};

// Whole tiles, parts of tiles in both directions, more tiles than blocks, tiles of 28 columns and of 32.
const std::vector<Shape> kShapes = {{1, 64, 8, 32},  {3, 64, 32, 32}, {2, 64, 13, 30},  {2, 64, 30, 61},
                                    {5, 64, 28, 28}, {7, 64, 56, 56}, {150, 64, 32, 32}};

TEST_F(CudaPassedGradient, OfOneReaderEqualsDoublePrecision) {
  for (const Shape& shape : kShapes) {
    for (const bool adds : {false, true}) {
      SCOPED_TRACE(c10::str(shape, adds ? " with a shortcut" : ""));
      const Block block(shape, adds), exact = block.in_double();
      const at::Tensor normalized = batch_norm_act(block.input, block.before, block.first_options());
      Watched watched(normalized);
      const auto found = gradients_of(convolve(normalized, block.weight, {}, kOptions), block);
      EXPECT_TRUE(watched.passed);
      const at::Tensor expected = reference(exact.input, exact.before, exact.first_options());
      expect_gradients(found, gradients_of(exact_convolution(expected, exact.weight), exact));
    }
  }
}

TEST_F(CudaPassedGradient, OfAResidualBlockEqualsDoublePrecision) {
  for (const Shape& shape : kShapes) {
    for (const bool adds : {false, true}) {
      SCOPED_TRACE(c10::str(shape, adds ? " with a shortcut" : ""));
      const Block block(shape, adds), exact = block.in_double();
      const ForTwo normalized = batch_norm_act_for_two(block.input, block.before, block.first_options());
      Watched watched(normalized.first);
      // Without a ReLU at its end, which would let by another gradient where a rounding moves a value over 0.
      const at::Tensor output = batch_norm_act(convolve(normalized.first, block.weight, {}, kOptions), block.behind,
                                               {.shortcut = normalized.second});
      const auto found = gradients_of(output, block);
      EXPECT_TRUE(watched.passed);
      const at::Tensor middle = reference(exact.input, exact.before, exact.first_options());
      const at::Tensor expected =
          reference(exact_convolution(middle, exact.weight), exact.behind, {.shortcut = middle});
      // The normalization behind leaves gradients whose sums nearly vanish, but not their roundings.
      expect_gradients(found, gradients_of(expected, exact), 0.03);
    }
  }
}

// Nobody tells the convolution of the other reader's gradient.
TEST_F(CudaPassedGradient, TakesOtherReadersToo) {
  const Block block({3, 64, 32, 32}, /*adds=*/true), exact = block.in_double();
  const auto both_of = [&](const ForTwo& read) {
    return convolve(read.first, block.weight, {}, kOptions) + read.second * read.second;
  };
  const at::Tensor middle = reference(exact.input, exact.before, exact.first_options());
  const auto expected = gradients_of(exact_convolution(middle, exact.weight) + middle * middle, exact);
  const at::Tensor once = batch_norm_act(block.input, block.before, block.first_options());
  expect_gradients(gradients_of(both_of({once, once}), block), expected);
  expect_gradients(
      gradients_of(both_of(batch_norm_act_for_two(block.input, block.before, block.first_options())), block), expected);
}

TEST_F(CudaPassedGradient, RefusesAThirdReader) {
  const Block block({2, 64, 32, 32}, /*adds=*/false);
  const ForTwo normalized = batch_norm_act_for_two(block.input, block.before, block.first_options());
  const at::Tensor output = batch_norm_act(convolve(normalized.first, block.weight, {}, kOptions), block.behind,
                                           {.shortcut = normalized.second, .relu = true});
  EXPECT_THROW(gradients_of(output + normalized.first, block), RuntimeError);
}

TEST_F(CudaPassedGradient, TwiceGivesTheSameBits) {
  const Block block({130, 64, 32, 32}, /*adds=*/true);
  const ForTwo normalized = batch_norm_act_for_two(block.input, block.before, block.first_options());
  const at::Tensor output = batch_norm_act(convolve(normalized.first, block.weight, {}, kOptions), block.behind,
                                           {.shortcut = normalized.second, .relu = true});
  std::vector<variable_list> runs;
  for (int run = 0; run < 2; ++run) {
    runs.push_back(torch::autograd::grad({output}, block.leaves(), {block.gradient}, /*retain_graph=*/true));
  }
  for (std::size_t i = 0; i < runs[0].size(); ++i) EXPECT_TRUE(runs[0][i].equal(runs[1][i])) << i;
}

}  // namespace
}  // namespace lockstep::kernels
