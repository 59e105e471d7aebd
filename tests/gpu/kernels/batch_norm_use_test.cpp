// The fused batch normalization on a GPU as a step uses it: its gradients' memory, its bits, streams and CUDA graphs.
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>

#include <lockstep/kernels/every_nth.h>

#include "no_waiting.h"
#include "norm_cases.h"

namespace lockstep::kernels {
namespace {

class CudaBatchNormUse : public OnGpu {};

using torch::autograd::variable_list;

// A layer with all that a residual block's last one has.
struct Layer {
  explicit Layer(at::IntArrayRef shape, at::ScalarType type = at::kBFloat16)
      : input(random_batch(shape, type).requires_grad_()),
        shortcut(random_batch(shape, type).requires_grad_()),
        gradient(random_batch(shape, type)),
        state(make_state(shape[1])) {}

  // The output and all gradients.
  std::vector<at::Tensor> pass() const {
    const at::Tensor output = batch_norm_act(input, state, {.shortcut = shortcut, .relu = true});
    auto results = torch::autograd::grad({output}, {input, state.weight, state.bias, shortcut}, {gradient});
    results.push_back(output.detach());
    return results;
  }

  at::Tensor input, shortcut, gradient;
  BatchNormState state;
};

void expect_equal(const std::vector<at::Tensor>& found, const std::vector<at::Tensor>& expected,
                  const std::string& what) {
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(at::equal(found[i], expected[i])) << what << ", " << i;
}

// Many blocks for few channels, and few for many.
const std::vector<std::vector<std::int64_t>> kShapes = {{64, 64, 32, 32}, {64, 512, 16, 16}, {256, 1024, 8, 8}};

TEST_F(CudaBatchNormUse, HasTheSameBitsEachTime) {
  for (const auto& shape : kShapes) {
    const Layer layer(shape);
    const auto first = layer.pass();
    for (int i = 0; i < 20; ++i) expect_equal(layer.pass(), first, c10::str(shape, ", pass ", i));
  }
}

// Layers of different numbers of blocks follow each other, on several streams at the same time.
TEST_F(CudaBatchNormUse, RunsOnSeveralStreamsAtOnce) {
  std::vector<Layer> layers;
  std::vector<std::vector<at::Tensor>> expected;
  for (const auto& shape : kShapes) expected.push_back(layers.emplace_back(shape).pass());
  c10::cuda::device_synchronize();
  std::vector<std::pair<std::size_t, std::vector<at::Tensor>>> found;
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 3; ++i) {
      const c10::cuda::CUDAStreamGuard on(c10::cuda::getStreamFromPool());
      for (std::size_t l = 0; l < layers.size(); ++l) {
        const std::size_t which = (l + static_cast<std::size_t>(i)) % layers.size();
        found.emplace_back(which, layers[which].pass());
      }
    }
  }
  c10::cuda::device_synchronize();
  for (const auto& [which, results] : found) expect_equal(results, expected[which], c10::str(kShapes[which]));
}

TEST_F(CudaBatchNormUse, IsRecordedInACudaGraph) {
  for (const auto& shape : kShapes) {
    const c10::cuda::CUDAStreamGuard on(c10::cuda::getStreamFromPool());
    const Layer layer(shape);
    layer.pass();
    at::cuda::CUDAGraph graph;
    std::vector<at::Tensor> results;
    graph.capture_begin();
    results = layer.pass();
    graph.capture_end();
    for (int i = 0; i < 5; ++i) {
      {
        const at::NoGradGuard no_gradients;
        layer.input.copy_(random_batch(shape, at::kBFloat16, i));
        layer.gradient.copy_(random_batch(shape, at::kBFloat16));
      }
      graph.replay();
      const auto replayed = [&] {
        std::vector<at::Tensor> copies;
        for (const auto& tensor : results) copies.push_back(tensor.clone());
        return copies;
      }();
      expect_equal(replayed, layer.pass(), c10::str(shape, ", replay ", i));
    }
  }
}

TEST_F(CudaBatchNormUse, DoesNotMakeTheHostWait) {
  const Layer layer({64, 64, 32, 32});
  layer.pass();
  const test::NoWaiting no_waiting;
  layer.pass();
}

// Gradients that nobody else holds are written over: those that somebody holds are not.
TEST_F(CudaBatchNormUse, LeavesGradientsOfOthersAlone) {
  for (const bool relu : {false, true}) {
    for (const bool adds : {false, true}) {
      const at::Tensor input = random_batch({2, 8, 5, 5}, at::kFloat).requires_grad_();
      const at::Tensor shortcut = adds ? random_batch({2, 8, 5, 5}, at::kFloat).requires_grad_() : at::Tensor();
      const BatchNormState state = make_state(8);
      const ForTwo both = batch_norm_act_for_two(input, state, {.shortcut = shortcut, .relu = relu});
      const at::Tensor output = both.first;
      output.retain_grad();
      const at::Tensor gradient = torch::randn_like(output), copy = gradient.clone();
      torch::autograd::backward({output * 1, both.second * 1}, {gradient, gradient}, /*retain_graph=*/true);
      EXPECT_TRUE(at::equal(gradient, copy));
      EXPECT_TRUE(at::equal(output.grad(), copy));
      const at::Tensor once = input.grad().clone();
      torch::autograd::backward({output * 1, both.second * 1}, {gradient, gradient});
      EXPECT_TRUE(at::equal(output.grad(), 2 * copy));
      EXPECT_TRUE(at::equal(input.grad(), 2 * once));
    }
  }
}

// What a shortcut with a stride reads: its gradient is that of the few places among zeros, to the last bit.
TEST_F(CudaBatchNormUse, TakesTheGradientOfEveryNthPlace) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    for (const std::int64_t stride : {2, 3}) {
      for (const bool adds : {false, true}) {
        SCOPED_TRACE(c10::str(type, ", stride ", stride, adds ? ", with a shortcut" : ""));
        const Layer layer({5, 64, 13, 30}, type);
        const NormAct options{.shortcut = adds ? layer.shortcut : at::Tensor(), .relu = true};
        const auto sliced = [&](const at::Tensor& x) {
          return x.slice(2, 0, x.size(2), stride).slice(3, 0, x.size(3), stride);
        };
        const auto gradients_of = [&](bool nth, bool of_both) {
          const ForTwo both = batch_norm_act_for_two(layer.input, layer.state, options);
          EXPECT_TRUE(can_every_nth(both.second));
          EXPECT_FALSE(can_every_nth(both.first));
          const at::Tensor few = nth ? every_nth(both.second, stride) : sliced(both.second);
          variable_list outputs{few * sliced(layer.gradient)}, gradients{torch::ones_like(few)};
          if (of_both) outputs.push_back(both.first), gradients.push_back(layer.gradient);
          variable_list inputs{layer.input, layer.state.weight, layer.state.bias};
          if (adds) inputs.push_back(layer.shortcut);
          return torch::autograd::grad(outputs, inputs, gradients);
        };
        for (const bool of_both : {true, false}) {
          expect_equal(gradients_of(true, of_both), gradients_of(false, of_both), of_both ? "both" : "the second");
        }
      }
    }
  }
}

TEST_F(CudaBatchNormUse, TakesGradientsOfAnyLayout) {
  const at::Tensor input = random_batch({2, 8, 5, 3}, at::kFloat).requires_grad_();
  const at::Tensor output = batch_norm_act(input, make_state(8), {.relu = true});
  for (const at::Tensor& gradient :
       {torch::randn({2, 8, 5, 3}, at::kCUDA), torch::randn({2, 8, 1, 1}, at::kCUDA).expand({2, 8, 5, 3}),
        torch::randn({3, 5, 3, 8}, at::kCUDA).narrow(0, 1, 2).permute({0, 3, 1, 2})}) {
    const auto given = torch::autograd::grad({output}, {input}, {gradient}, /*retain_graph=*/true);
    const auto expected =
        torch::autograd::grad({output}, {input}, {channels_last(gradient).clone()}, /*retain_graph=*/true);
    EXPECT_TRUE(at::equal(given[0], expected[0]));
  }
}

// As the bias of a convolution before it: nothing but the running mean is different.
TEST_F(CudaBatchNormUse, TakesABiasIntoTheRunningMeanAlone) {
  const at::Tensor input = random_batch({4, 16, 9, 7}, at::kFloat);
  const at::Tensor bias = torch::randn({16}, at::kCUDA).requires_grad_();
  BatchNormState state = make_state(16), exact = in_double(state);
  state.batches = torch::full({}, 7, at::TensorOptions(at::kLong).device(at::kCUDA));
  const at::Tensor output = batch_norm_act(input, state, {.input_bias = bias, .relu = true});
  output.sum().backward();
  const at::Tensor moved = in_double(input) + bias.detach().to(at::kDouble).view({1, 16, 1, 1});
  expect_close(output, reference(moved, exact, {.relu = true}), 1e-5, "output");
  expect_close(state.running_mean, exact.running_mean, 1e-6, "running mean");
  expect_close(state.running_var, exact.running_var, 1e-6, "running variance");
  EXPECT_EQ(state.batches.item<std::int64_t>(), 8);
  EXPECT_TRUE(at::equal(bias.grad(), torch::zeros_like(bias)));
}

TEST_F(CudaBatchNormUse, MakesOnlyTheGradientsThatAreWanted) {
  for (const bool of_shortcut : {false, true}) {
    const at::Tensor input = random_batch({2, 8, 5, 3}, at::kFloat);
    const at::Tensor shortcut = random_batch({2, 8, 5, 3}, at::kFloat).requires_grad_(of_shortcut);
    const BatchNormState state = make_state(8), exact = in_double(state);
    const at::Tensor gradient = torch::randn_like(input);
    batch_norm_act(input, state, {.shortcut = shortcut, .relu = true}).backward(gradient);
    const at::Tensor exact_shortcut = in_double(shortcut);
    reference(in_double(input), exact, {.shortcut = exact_shortcut, .relu = true}).backward(gradient.to(at::kDouble));
    EXPECT_FALSE(input.grad().defined());
    EXPECT_EQ(shortcut.grad().defined(), of_shortcut);
    if (of_shortcut) expect_close(shortcut.grad(), exact_shortcut.grad(), 1e-6, "shortcut");
    expect_close(state.weight.grad(), exact.weight.grad(), 2e-5, "weight");
    expect_close(state.bias.grad(), exact.bias.grad(), 2e-5, "bias");
  }
}

}  // namespace
}  // namespace lockstep::kernels
