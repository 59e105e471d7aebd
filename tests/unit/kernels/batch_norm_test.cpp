// The fused batch normalization as autograd sees it, against libtorch's operations in doubles.
#include <lockstep/kernels/batch_norm.h>

#include <ATen/Parallel.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randint_like.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randn_like.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/utils.h>

#include <lockstep/base/cpu.h>
#include <lockstep/base/errors.h>

namespace lockstep::kernels {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

at::Tensor channels_last(const at::Tensor& tensor) {
  if (tensor.dim() == 4) return tensor.contiguous(at::MemoryFormat::ChannelsLast);
  return tensor.dim() == 5 ? tensor.contiguous(at::MemoryFormat::ChannelsLast3d) : tensor.contiguous();
}

BatchNormState make_state(std::int64_t channels) {
  return {.weight = (at::rand({channels}) + 0.5).requires_grad_(),
          .bias = at::randn({channels}).requires_grad_(),
          .running_mean = at::randn({channels}),
          .running_var = at::rand({channels}) + 0.5,
          .momentum = 0.3,
          .eps = 1e-3};
}

BatchNormState in_double(const BatchNormState& state) {
  const auto convert = [](const at::Tensor& tensor) {
    return tensor.detach().to(at::kDouble).requires_grad_(tensor.requires_grad());
  };
  return {convert(state.weight),      convert(state.bias), convert(state.running_mean),
          convert(state.running_var), state.momentum,      state.eps};
}

at::Tensor reference(const at::Tensor& input, const BatchNormState& state, const NormAct& options) {
  at::Tensor output = at::batch_norm(input, state.weight, state.bias, state.running_mean, state.running_var,
                                     options.by_batch, state.momentum, state.eps, false);
  if (options.shortcut.defined()) output = output + options.shortcut;
  return options.relu ? at::relu(output) : output;
}

void expect_close(const at::Tensor& found, const at::Tensor& expected, double tolerance, const std::string& what) {
  // A gradient may be a small difference of large values.
  const double largest = std::max(expected.abs().max().item<double>(), 0.1);
  if (found.scalar_type() == at::kBFloat16) tolerance += 0x1p-8;  // half of a last place
  EXPECT_LT((found.to(at::kDouble) - expected).abs().max().item<double>(), tolerance * largest) << what;
}

class BatchNormAct : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cpu::kernel_level() == cpu::KernelLevel::kBase) GTEST_SKIP() << "this CPU has no AVX2";
    torch::manual_seed(1);
  }
};

// Outputs, running statistics and all gradients. The gradient of a ReLU jumps at 0, where doubles may be on the other
// side: what is that near is not compared.
void expect_as_in_double(at::ScalarType type, at::IntArrayRef shape, bool adds, bool relu, double mean) {
  const std::string what = c10::str(type, shape, adds ? " + shortcut" : "", relu ? ", relu" : "", ", mean ", mean);
  const at::Tensor input = channels_last(at::randn(shape) + mean).to(type).requires_grad_();
  const at::Tensor exact_input = input.detach().to(at::kDouble).requires_grad_();
  const BatchNormState state = make_state(shape[1]), exact = in_double(state);
  NormAct options{.relu = relu}, exact_options{.relu = relu};
  std::vector<at::Tensor> inputs = {input, state.weight, state.bias};
  std::vector<at::Tensor> exact_inputs = {exact_input, exact.weight, exact.bias};
  if (adds) {
    inputs.push_back(options.shortcut = channels_last(at::randn(shape)).to(type).requires_grad_());
    exact_inputs.push_back(exact_options.shortcut = options.shortcut.detach().to(at::kDouble).requires_grad_());
  }
  ASSERT_TRUE(can_batch_norm_act(input, state, options)) << what;
  const at::Tensor output = batch_norm_act(input, state, options);
  const at::Tensor exact_output = reference(exact_input, exact, exact_options);
  const double tolerance = 2e-6;
  expect_close(output.detach(), exact_output.detach(), tolerance, what);
  expect_close(state.running_mean, exact.running_mean, tolerance, what);
  expect_close(state.running_var, exact.running_var, 1e-5, what);

  const at::Tensor clear = relu ? exact_output.detach() > 1e-4 : at::ones(shape, at::kBool);
  const at::Tensor gradient = (channels_last(at::randn(shape)) * clear).to(type);
  const auto found = torch::autograd::grad({output}, inputs, {gradient});
  const auto expected = torch::autograd::grad({exact_output}, exact_inputs, {gradient.to(at::kDouble)});
  for (std::size_t i = 0; i < found.size(); ++i) {
    expect_close(found[i], expected[i], 2e-5, c10::str(what, ": gradient of input ", i));
  }
}

TEST_F(BatchNormAct, GivesWhatLibtorchGivesInDoubles) {
  const std::vector<std::vector<std::int64_t>> shapes = {{2, 1},           {7, 3},           {300, 17},
                                                         {2, 3, 1, 1},     {3, 17, 5, 7},    {2, 64, 13, 11},
                                                         {5, 100, 16, 16}, {2, 16, 3, 4, 5}, {1, 33, 2, 50, 40}};
  for (const auto& shape : shapes) {
    for (const bool adds : {false, true}) {
      for (const bool relu : {false, true}) {
        for (const double mean : {0.0, 100.0}) {
          for (const auto type : {at::kFloat, at::kBFloat16}) expect_as_in_double(type, shape, adds, relu, mean);
        }
      }
    }
  }
}

TEST_F(BatchNormAct, HasTheSameBitsForAnyNumberOfThreads) {
  const int before = at::get_num_threads();
  for (const auto& shape : {std::vector<std::int64_t>{4, 20, 33, 31}, {3000, 9}}) {
    for (const auto type : {at::kFloat, at::kBFloat16}) {
      const at::Tensor input = channels_last(at::randn(shape)).to(type).requires_grad_();
      const at::Tensor shortcut = channels_last(at::randn(shape)).to(type).requires_grad_();
      const at::Tensor gradient = channels_last(at::randn(shape)).to(type);
      std::vector<at::Tensor> first;
      for (const int threads : {1, 2, 3}) {
        torch::manual_seed(2);
        at::set_num_threads(threads);
        const BatchNormState state = make_state(shape[1]);
        const at::Tensor output = batch_norm_act(input, state, {.shortcut = shortcut, .relu = true});
        auto found = torch::autograd::grad({output}, {input, state.weight, state.bias, shortcut}, {gradient});
        for (const auto& tensor : {output, state.running_mean, state.running_var}) found.push_back(tensor.detach());
        if (first.empty()) first = found;
        for (std::size_t i = 0; i < found.size(); ++i)
          EXPECT_TRUE(at::equal(found[i], first[i])) << threads << ", " << i;
      }
    }
  }
  at::set_num_threads(before);
}

TEST_F(BatchNormAct, AddsBothGradients_WhereTheShortcutIsTheInput) {
  for (const bool relu : {false, true}) {
    const at::Tensor input = channels_last(at::randn({3, 16, 4, 4})).requires_grad_();
    const at::Tensor exact_input = input.detach().to(at::kDouble).requires_grad_();
    const BatchNormState state = make_state(16), exact = in_double(state);
    const at::Tensor gradient = at::randn_like(input);
    batch_norm_act(input, state, {.shortcut = input, .relu = relu}).backward(gradient);
    reference(exact_input, exact, {.shortcut = exact_input, .relu = relu}).backward(gradient.to(at::kDouble));
    expect_close(input.grad(), exact_input.grad(), 2e-5, "input");
    expect_close(state.weight.grad(), exact.weight.grad(), 2e-5, "weight");
  }
}

// Whole numbers: their sum is exact in bfloat16 too. Those who hold the gradients find them as they were.
TEST_F(BatchNormAct, AddsTheGradientsOfTwoReaders) {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    for (const int kind : {0, 1, 2, 3}) {
      const bool relu = kind % 2 == 1, adds = kind / 2 == 1;
      const at::Tensor input = channels_last(at::randn({3, 17, 4, 4})).to(type).requires_grad_();
      const at::Tensor shortcut =
          adds ? channels_last(at::randn({3, 17, 4, 4})).to(type).requires_grad_() : at::Tensor();
      const BatchNormState state = make_state(17);
      const NormAct options{.shortcut = shortcut, .relu = relu};
      std::vector<at::Tensor> inputs = {input, state.weight, state.bias};
      if (adds) inputs.push_back(shortcut);
      const at::Tensor one = channels_last(at::randint(-8, 9, input.sizes(), input.options().requires_grad(false)));
      const at::Tensor other = channels_last(at::randint_like(one, -8, 9)), kept[] = {one.clone(), other.clone()};

      const ForTwo both = batch_norm_act_for_two(input, state, options);
      EXPECT_EQ(both.first.const_data_ptr(), both.second.const_data_ptr());
      const auto expected = torch::autograd::grad({batch_norm_act(input, state, options)}, inputs, {one + other});
      const auto found = torch::autograd::grad({both.first, both.second}, inputs, {one, other}, /*retain_graph=*/true);
      const auto again = torch::autograd::grad({both.first * 1, both.second * 1}, inputs, {one, other}, true);
      const auto second = torch::autograd::grad({both.second}, inputs, {one + other});
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_TRUE(at::equal(found[i], expected[i])) << type << ", kind " << kind << ", " << i;
        EXPECT_TRUE(at::equal(again[i], expected[i])) << type << ", kind " << kind << ", " << i;
        EXPECT_TRUE(at::equal(second[i], expected[i])) << type << ", kind " << kind << ", " << i;
      }
      EXPECT_TRUE(at::equal(one, kept[0]) && at::equal(other, kept[1]));
    }
  }
}

// Gradients that nobody else holds are written over: those that somebody holds are not.
TEST_F(BatchNormAct, LeavesGradientsOfOthersAlone) {
  for (const bool relu : {false, true}) {
    for (const bool adds : {false, true}) {
      const at::Tensor input = channels_last(at::randn({2, 8, 5, 5})).requires_grad_();
      const at::Tensor shortcut = adds ? channels_last(at::randn({2, 8, 5, 5})).requires_grad_() : at::Tensor();
      const BatchNormState state = make_state(8);
      const at::Tensor output = batch_norm_act(input, state, {.shortcut = shortcut, .relu = relu});
      output.retain_grad();
      const at::Tensor gradient = at::randn_like(output), copy = gradient.clone();
      (output * 1).backward(gradient, /*retain_graph=*/true);
      EXPECT_TRUE(at::equal(gradient, copy));
      EXPECT_TRUE(at::equal(output.grad(), copy));
      const at::Tensor once = input.grad().clone();
      (output * 1).backward(gradient);  // one that the engine made, and nobody keeps but retain_grad
      EXPECT_TRUE(at::equal(output.grad(), 2 * copy));
      EXPECT_TRUE(at::equal(input.grad(), 2 * once));
    }
  }
}

TEST_F(BatchNormAct, TakesGradientsOfAnyLayout) {
  const at::Tensor input = channels_last(at::randn({2, 8, 5, 3})).requires_grad_();
  const BatchNormState state = make_state(8);
  const at::Tensor output = batch_norm_act(input, state, {.relu = true});
  for (const at::Tensor& gradient : {at::randn({2, 8, 5, 3}), at::randn({2, 8, 1, 1}).expand({2, 8, 5, 3})}) {
    const auto given = torch::autograd::grad({output}, {input}, {gradient}, /*retain_graph=*/true);
    const auto expected = torch::autograd::grad({output}, {input}, {channels_last(gradient)}, /*retain_graph=*/true);
    EXPECT_TRUE(at::equal(given[0], expected[0]));
  }
}

TEST_F(BatchNormAct, MakesOnlyTheGradientsThatAreWanted) {
  for (const bool of_shortcut : {false, true}) {
    const at::Tensor input = channels_last(at::randn({2, 8, 5, 3}));
    const at::Tensor shortcut = channels_last(at::randn({2, 8, 5, 3})).requires_grad_(of_shortcut);
    const BatchNormState state = make_state(8), exact = in_double(state);
    const at::Tensor gradient = at::randn_like(input);
    batch_norm_act(input, state, {.shortcut = shortcut, .relu = true}).backward(gradient);
    const at::Tensor exact_shortcut = shortcut.detach().to(at::kDouble).requires_grad_(of_shortcut);
    reference(input.to(at::kDouble), exact, {.shortcut = exact_shortcut, .relu = true})
        .backward(gradient.to(at::kDouble));
    EXPECT_FALSE(input.grad().defined());
    EXPECT_EQ(shortcut.grad().defined(), of_shortcut);
    if (of_shortcut) expect_close(shortcut.grad(), exact_shortcut.grad(), 1e-6, "shortcut");
    expect_close(state.weight.grad(), exact.weight.grad(), 2e-5, "weight");
    expect_close(state.bias.grad(), exact.bias.grad(), 2e-5, "bias");
  }
}

TEST_F(BatchNormAct, NormalizesByRunningStatistics_WithoutGradients) {
  const at::NoGradGuard no_gradients;
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    const at::Tensor input = channels_last(at::randn({3, 17, 5, 7})).to(type);
    const at::Tensor shortcut = channels_last(at::randn({3, 17, 5, 7})).to(type);
    const BatchNormState state = make_state(17), exact = in_double(state);
    const at::Tensor mean = state.running_mean.clone();
    const NormAct options{.shortcut = shortcut, .relu = true, .by_batch = false};
    const NormAct exact_options{.shortcut = shortcut.to(at::kDouble), .relu = true, .by_batch = false};
    ASSERT_TRUE(can_batch_norm_act(input, state, options));
    expect_close(batch_norm_act(input, state, options), reference(input.to(at::kDouble), exact, exact_options), 1e-6,
                 "");
    EXPECT_TRUE(at::equal(state.running_mean, mean));
  }
}

TEST_F(BatchNormAct, LeavesToOthersWhatItCannot) {
  const BatchNormState state = make_state(8);
  const at::Tensor good = channels_last(at::randn({2, 8, 3, 3}));
  EXPECT_TRUE(can_batch_norm_act(good, state, {}));
  EXPECT_FALSE(can_batch_norm_act(at::randn({2, 8, 3, 3}), state, {}));
  EXPECT_FALSE(can_batch_norm_act(at::randn({2, 8, 3}), state, {}));
  EXPECT_TRUE(can_batch_norm_act(good.to(at::kBFloat16), state, {}));
  EXPECT_FALSE(can_batch_norm_act(good.to(at::kHalf), state, {}));
  EXPECT_FALSE(can_batch_norm_act(good.to(at::kBFloat16), state, {.shortcut = good}));
  EXPECT_FALSE(can_batch_norm_act(good, state, {.shortcut = good.to(at::kBFloat16)}));
  EXPECT_FALSE(can_batch_norm_act(good, state, {.shortcut = at::randn({2, 8, 3, 3})}));
  EXPECT_FALSE(can_batch_norm_act(good, state, {.shortcut = channels_last(at::randn({2, 8, 1, 1}))}));
  EXPECT_FALSE(can_batch_norm_act(good, state, {.by_batch = false})) << "weights want gradients";
  BatchNormState plain = state;
  plain.weight.reset();
  EXPECT_FALSE(can_batch_norm_act(good, plain, {}));
}

TEST_F(BatchNormAct, RefusesASecondDerivative) {
  const at::Tensor input = channels_last(at::randn({2, 8, 3, 3})).requires_grad_();
  const at::Tensor output = batch_norm_act(input, make_state(8), {});
  EXPECT_THAT([&] { torch::autograd::grad({output.sum()}, {input}, {}, true, /*create_graph=*/true); },
              ThrowsMessage<UsageError>(HasSubstr("second derivative")));
}

}  // namespace
}  // namespace lockstep::kernels
