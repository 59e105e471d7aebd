// The fused batch normalization on a GPU, against libtorch's operations in doubles.
#include "norm_cases.h"

namespace lockstep::kernels {
namespace {

class CudaBatchNormAct : public OnGpu {};

struct Case {
  std::vector<std::int64_t> shape;
  at::ScalarType type = at::kFloat;
  bool adds = false, relu = false;
  double mean = 0;
  bool for_two = false;

  std::string text() const {
    return c10::str(shape, " ", type, adds ? " + shortcut" : "", relu ? ", relu" : "", ", mean ", mean,
                    for_two ? ", for two" : "");
  }
};

// Outputs, running statistics and all gradients. The gradient of a ReLU jumps at 0, where doubles may be on the other
// side: what is that near is not compared.
void expect_as_in_double(const Case& test) {
  const std::string what = test.text();
  const at::Tensor input = random_batch(test.shape, test.type, test.mean).requires_grad_();
  const at::Tensor exact_input = in_double(input);
  const BatchNormState state = make_state(test.shape[1]), exact = in_double(state);
  NormAct options{.relu = test.relu}, exact_options{.relu = test.relu};
  std::vector<at::Tensor> inputs = {input, state.weight, state.bias};
  std::vector<at::Tensor> exact_inputs = {exact_input, exact.weight, exact.bias};
  if (test.adds) {
    inputs.push_back(options.shortcut = random_batch(test.shape, test.type).requires_grad_());
    exact_inputs.push_back(exact_options.shortcut = in_double(options.shortcut));
  }
  ASSERT_TRUE(can_batch_norm_act(input, state, options)) << what;
  std::vector<at::Tensor> outputs;
  if (test.for_two) {
    const ForTwo both = batch_norm_act_for_two(input, state, options);
    outputs = {both.first, both.second};
    EXPECT_EQ(both.first.data_ptr(), both.second.data_ptr()) << what;
  } else {
    outputs = {batch_norm_act(input, state, options)};
  }
  const at::Tensor exact_output = reference(exact_input, exact, exact_options);
  const double tolerance = tolerance_of(test.type);
  expect_close(outputs[0], exact_output, tolerance, what);
  expect_close(state.running_mean, exact.running_mean, 1e-6, what + ": running mean");
  expect_close(state.running_var, exact.running_var, 1e-5, what + ": running variance");

  const at::Tensor clear = test.relu ? exact_output.detach() > 1e-3 : torch::ones_like(exact_output, at::kBool);
  std::vector<at::Tensor> gradients;
  at::Tensor exact_gradient = torch::zeros_like(exact_output);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    gradients.push_back(random_batch(test.shape, test.type) * clear);
    exact_gradient += gradients.back().to(at::kDouble);
  }
  const auto found = torch::autograd::grad(outputs, inputs, gradients);
  const auto expected = torch::autograd::grad({exact_output}, exact_inputs, {exact_gradient});
  for (std::size_t i = 0; i < found.size(); ++i) {
    // Sums of gradients that were added and rounded are as far off as those are.
    const double of_sums = test.for_two ? 2 * tolerance : 2e-5;
    expect_close(found[i], expected[i], found[i].dim() == 1 ? of_sums : 2 * tolerance,
                 c10::str(what, ": gradient of input ", i));
  }
}

// Few rows and many, in chunks that are full or not; by one block, and by many that tell each other.
const std::vector<std::vector<std::int64_t>> kShapes = {
    {2, 8},           {300, 24},         {2, 8, 1, 1},     {3, 72, 5, 7},    {2, 64, 13, 11},
    {5, 136, 16, 3},  {2, 16, 3, 4, 5},  {256, 512, 4, 4}, {64, 64, 32, 32}, {37, 256, 31, 29},
    {16, 2048, 7, 7}, {130, 1024, 8, 8}, {2, 9000, 3, 3},  {64, 8, 112, 113}};

TEST_F(CudaBatchNormAct, GivesWhatLibtorchGivesInDoubles) {
  for (const auto& shape : kShapes) {
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) {
      for (const bool adds : {false, true}) {
        for (const bool relu : {false, true}) expect_as_in_double({shape, type, adds, relu});
      }
    }
  }
}

TEST_F(CudaBatchNormAct, KeepsItsDigitsAtExtremeMeans) {
  for (const auto& shape : {std::vector<std::int64_t>{300, 24}, {16, 64, 32, 32}, {37, 256, 31, 29}}) {
    for (const double mean : {-1e4, 1e4}) expect_as_in_double({shape, at::kFloat, true, true, mean});
    expect_as_in_double({shape, at::kHalf, true, true, 100});
    expect_as_in_double({shape, at::kBFloat16, false, true, 100});
  }
}

TEST_F(CudaBatchNormAct, AddsTheGradientsOfTwoReaders) {
  for (const auto& shape : kShapes) {
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
      for (const bool adds : {false, true}) {
        for (const bool relu : {false, true}) expect_as_in_double({shape, type, adds, relu, 0, true});
      }
    }
  }
}

TEST_F(CudaBatchNormAct, TakesTheGradientOfOneOfTwoReaders) {
  const at::Tensor input = random_batch({4, 16, 5, 5}, at::kFloat).requires_grad_();
  const at::Tensor shortcut = random_batch({4, 16, 5, 5}, at::kFloat).requires_grad_();
  const at::Tensor gradient = random_batch({4, 16, 5, 5}, at::kFloat);
  const BatchNormState state = make_state(16);
  const NormAct options{.shortcut = shortcut, .relu = true};
  const at::Tensor alone = batch_norm_act(input, state, options);
  const auto expected = torch::autograd::grad({alone}, {input, state.weight, shortcut}, {gradient});
  for (const bool first : {true, false}) {
    const ForTwo both = batch_norm_act_for_two(input, state, options);
    const auto found =
        torch::autograd::grad({first ? both.first : both.second}, {input, state.weight, shortcut}, {gradient});
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(at::equal(found[i], expected[i])) << first << i;
  }
}

TEST_F(CudaBatchNormAct, NormalizesByRunningStatistics_WithoutGradients) {
  const at::NoGradGuard no_gradients;
  for (const auto& shape : kShapes) {
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) {
      for (const bool adds : {false, true}) {
        const at::Tensor input = random_batch(shape, type);
        const BatchNormState state = make_state(shape[1]), exact = in_double(state);
        const at::Tensor mean = state.running_mean.clone();
        NormAct options{.relu = adds, .by_batch = false};
        NormAct exact_options = options;
        if (adds) options.shortcut = random_batch(shape, type), exact_options.shortcut = in_double(options.shortcut);
        ASSERT_TRUE(can_batch_norm_act(input, state, options));
        expect_close(batch_norm_act(input, state, options), reference(in_double(input), exact, exact_options),
                     tolerance_of(type), c10::str(shape, " ", type));
        EXPECT_TRUE(at::equal(state.running_mean, mean));
      }
    }
  }
}

TEST_F(CudaBatchNormAct, HasNoNumberWhereOneIsNone) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const at::Tensor input = random_batch({8, 16, 9, 9}, type);
    input[3][5][2][2] = std::numeric_limits<float>::quiet_NaN();
    const at::Tensor output = batch_norm_act(input, make_state(16), {.relu = true});
    EXPECT_TRUE(output.select(1, 5).isnan().all().item<bool>());
    EXPECT_EQ(output.isnan().sum().item<std::int64_t>(), 8 * 81);
  }
}

TEST_F(CudaBatchNormAct, LeavesToOthersWhatItCannot) {
  const BatchNormState state = make_state(8);
  const at::Tensor good = random_batch({2, 8, 3, 3}, at::kFloat);
  EXPECT_TRUE(can_batch_norm_act(good, state, {}));
  EXPECT_TRUE(can_batch_norm_act(good.to(at::kBFloat16), state, {}));
  EXPECT_FALSE(can_batch_norm_act(good.contiguous(), state, {})) << "channels are not last";
  EXPECT_FALSE(can_batch_norm_act(good.to(at::kDouble), state, {}));
  EXPECT_FALSE(can_batch_norm_act(good.cpu(), state, {})) << "parameters are on another device";
  EXPECT_FALSE(can_batch_norm_act(good, state, {.shortcut = good.to(at::kHalf)}));
  EXPECT_FALSE(can_batch_norm_act(good, state, {.shortcut = random_batch({2, 8, 1, 1}, at::kFloat)}));
  EXPECT_FALSE(can_batch_norm_act(good, state, {.by_batch = false})) << "weights want gradients";
  EXPECT_FALSE(can_batch_norm_act(random_batch({2, 12}, at::kHalf), make_state(12), {})) << "half a vector";
  EXPECT_TRUE(can_batch_norm_act(random_batch({2, 12}, at::kFloat), make_state(12), {}));
  const at::Tensor shifted = torch::randn({2 * 8 + 1}, at::kCUDA).narrow(0, 1, 16).view({2, 8});
  EXPECT_FALSE(can_batch_norm_act(shifted, state, {})) << "not aligned";
  BatchNormState halves = state;
  halves.weight = halves.weight.to(at::kHalf);
  EXPECT_FALSE(can_batch_norm_act(good.to(at::kHalf), halves, {}));
}

}  // namespace
}  // namespace lockstep::kernels
