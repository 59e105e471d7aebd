// Convolutions of one place with their normalization, on a GPU, against libtorch's operations in doubles.
#include <lockstep/kernels/pointwise.h>

#include <lockstep/kernels/every_nth.h>

#include "kernels/cuda/joined_gradient.h"
#include "norm_cases.h"

namespace lockstep::kernels {
namespace {

class CudaPointwise : public OnGpu {};

constexpr double kTolerance = 0.02;      // of bfloat16, several times rounded
constexpr double kPlaceTolerance = 0.2;  // of one place: if a tile were wrong there, it would be far more

struct Case {
  std::int64_t batch, inputs, outputs, height, width;
  bool adds = false, relu = false;

  std::vector<std::int64_t> in() const { return {batch, inputs, height, width}; }
  std::vector<std::int64_t> out() const { return {batch, outputs, height, width}; }
  std::string text() const { return c10::str(in(), " to ", outputs, adds ? " + shortcut" : "", relu ? ", relu" : ""); }
};

at::Tensor weights(std::int64_t outputs, std::int64_t inputs) {
  const auto options = at::TensorOptions(at::kBFloat16).device(at::kCUDA);
  return (torch::randn({outputs, inputs, 1, 1}, options) / std::sqrt(static_cast<double>(inputs))).requires_grad_();
}

// As what a normalization and a ReLU leave.
at::Tensor positive_batch(const Case& test) {
  return random_batch(test.in(), at::kBFloat16, 0.3).relu().detach().requires_grad_();
}

double worst(const at::Tensor& found, const at::Tensor& expected) {
  return ((found.to(at::kDouble) - expected).norm() / (expected.norm() + 1e-12)).item<double>();
}

// Of all places of pictures: one wrong tile among thousands is not lost in the whole.
double worst_place(const at::Tensor& found, const at::Tensor& expected) {
  const at::Tensor errors = (found.to(at::kDouble) - expected).square().sum(1).max();
  return (errors / (expected.square().sum(1).mean() + 1e-24)).sqrt().item<double>();
}

void expect_close(const at::Tensor& found, const at::Tensor& expected, const std::string& what) {
  EXPECT_LT(worst(found, expected), kTolerance) << what;
  const bool has_places = found.dim() == 4 && found.size(2) > 1;
  if (has_places) {
    EXPECT_LT(worst_place(found, expected), kPlaceTolerance) << what;
  }
}

void expect_as_in_double(const Case& test) {
  const std::string what = test.text();
  const at::Tensor input = positive_batch(test), weight = weights(test.outputs, test.inputs);
  const BatchNormState state = make_state(test.outputs), exact = in_double(state);
  NormAct options{.relu = test.relu}, exact_options{.relu = test.relu};
  std::vector<at::Tensor> inputs = {input, weight, state.weight, state.bias};
  std::vector<at::Tensor> exact_inputs = {in_double(input), in_double(weight), exact.weight, exact.bias};
  if (test.adds) {
    inputs.push_back(options.shortcut = random_batch(test.out(), at::kBFloat16).requires_grad_());
    exact_inputs.push_back(exact_options.shortcut = in_double(options.shortcut));
  }
  ASSERT_TRUE(can_pointwise_norm_act(input, weight, state, options)) << what;
  const ForTwo both = pointwise_norm_act(input, weight, state, options);
  const at::Tensor exact_output = reference(torch::conv2d(exact_inputs[0], exact_inputs[1]), exact, exact_options);
  expect_close(both.first, exact_output, what);
  EXPECT_EQ(both.first.data_ptr(), both.second.data_ptr()) << what;
  EXPECT_LT(worst(state.running_mean, exact.running_mean), 1e-3) << what;
  EXPECT_LT(worst(state.running_var, exact.running_var), 1e-3) << what;

  const at::Tensor clear = test.relu ? exact_output.detach() > 0.05 : torch::ones_like(exact_output, at::kBool);
  const at::Tensor first = random_batch(test.out(), at::kBFloat16) * clear;
  const at::Tensor second = random_batch(test.out(), at::kBFloat16) * clear;
  const auto found = torch::autograd::grad({both.first, both.second}, inputs, {first, second});
  const auto expected =
      torch::autograd::grad({exact_output}, exact_inputs, {first.to(at::kDouble) + second.to(at::kDouble)});
  for (std::size_t i = 0; i < found.size(); ++i) {
    expect_close(found[i], expected[i], c10::str(what, ": gradient of input ", i));
  }
}

TEST_F(CudaPointwise, GivesWhatLibtorchGivesInDoubles) {
  for (const auto& [batch, inputs, outputs, height, width] :
       std::vector<std::array<std::int64_t, 5>>{{32, 64, 256, 16, 16},
                                                {33, 64, 192, 17, 15},
                                                {71, 64, 128, 9, 13},
                                                {130, 128, 512, 16, 8},
                                                {28, 192, 384, 31, 29},
                                                {128, 256, 1024, 16, 16},
                                                {256, 512, 1024, 16, 17}}) {
    for (const bool adds : {false, true}) {
      for (const bool relu : {false, true}) expect_as_in_double({batch, inputs, outputs, height, width, adds, relu});
    }
  }
}

// A batch normalization before it leaves the sums that it needs; not where they have become wrong.
TEST_F(CudaPointwise, TakesTheSumsOfANormalization) {
  const Case test{71, 64, 256, 16, 16};
  const at::Tensor raw = random_batch(test.in(), at::kBFloat16).requires_grad_(), weight = weights(256, 64);
  const at::Tensor input = batch_norm_act(raw, make_state(64), {.relu = true});
  const BatchNormState with = make_state(256), without = in_double(with);
  const at::Tensor found = pointwise_norm_act(input, weight, with, {}).first;
  const at::Tensor exact = in_double(input), exact_weight = in_double(weight);
  EXPECT_LT(worst(found, reference(torch::conv2d(exact, exact_weight), without, {})), kTolerance);
  EXPECT_LT(worst(with.running_var, without.running_var), 1e-3);

  const at::Tensor changed = batch_norm_act(raw, make_state(64), {.relu = true});
  {
    const at::NoGradGuard no_grad;
    changed.add_(1);
  }
  const BatchNormState after = make_state(256), exact_after = in_double(after);
  const at::Tensor moved = pointwise_norm_act(changed, weight, after, {}).first;
  EXPECT_LT(worst(moved, reference(torch::conv2d(in_double(changed), exact_weight), exact_after, {})), kTolerance);
}

TEST_F(CudaPointwise, CountsItsBatches) {
  const Case test{32, 64, 256, 16, 16};
  const at::Tensor input = positive_batch(test), weight = weights(256, 64);
  BatchNormState state = make_state(256);
  state.batches = torch::zeros({}, at::TensorOptions(at::kLong).device(at::kCUDA));
  pointwise_norm_act(input, weight, state, {});
  pointwise_norm_act(input, weight, state, {});
  EXPECT_EQ(state.batches.item<std::int64_t>(), 2);
}

// One block after the other: the second one's first convolution has its gradient added to the shortcut's.
struct Channels {
  std::int64_t middle = 256, reduced = 64;
};
struct Chain {
  at::Tensor input, shortcut, expand, reduce, expand_again;
  BatchNormState first, second;

  std::vector<at::Tensor> inputs() const {
    return {input, shortcut, expand, reduce, expand_again, first.weight, first.bias, second.weight, second.bias};
  }
};

Chain make_chain(const Channels& channels = {}) {
  const auto& [middle, reduced] = channels;
  const Case test{36, 64, middle, 16, 15};
  return {.input = positive_batch(test),
          .shortcut = random_batch(test.out(), at::kBFloat16).requires_grad_(),
          .expand = weights(middle, 64),
          .reduce = weights(reduced, middle),
          .expand_again = weights(middle, reduced),
          .first = make_state(middle),
          .second = make_state(middle)};
}

// Tiles of 64 and of 128 outputs, one step and several, weights that a block keeps and that it does not.
constexpr std::array<Channels, 4> kChains = {{{256, 64}, {192, 64}, {256, 256}, {256, 512}}};

ForTwo blocks_of(const Chain& chain, bool joins) {
  const ForTwo middle =
      pointwise_norm_act(chain.input, chain.expand, chain.first, {.shortcut = chain.shortcut, .relu = true});
  EXPECT_TRUE(can_joined_pointwise(middle.first, chain.reduce));
  EXPECT_FALSE(can_joined_pointwise(middle.second, chain.reduce));
  const at::Tensor reduced =
      joins ? joined_pointwise(middle.first, chain.reduce) : torch::conv2d(middle.first, chain.reduce);
  return pointwise_norm_act(reduced.relu(), chain.expand_again, chain.second,
                            {.shortcut = middle.second, .relu = true});
}

TEST_F(CudaPointwise, JoinsTheGradientsOfBothReaders) {
  for (const Channels& channels : kChains) {
    const Chain chain = make_chain(channels);
    const at::Tensor gradient = random_batch({36, channels.middle, 16, 15}, at::kBFloat16);
    const auto joined = torch::autograd::grad({blocks_of(chain, true).first}, chain.inputs(), {gradient});
    const auto apart = torch::autograd::grad({blocks_of(chain, false).first}, chain.inputs(), {gradient});
    for (std::size_t i = 0; i < joined.size(); ++i) {
      expect_close(joined[i], apart[i].to(at::kDouble),
                   c10::str(channels.middle, " to ", channels.reduced, ": gradient of input ", i));
    }
  }
}

// Of pictures with odd sides too.
TEST_F(CudaPointwise, ReadsEveryNthPlace) {
  for (const auto& [height, width, stride] :
       std::vector<std::array<std::int64_t, 3>>{{16, 16, 2}, {15, 17, 2}, {17, 16, 3}}) {
    const Case test{36, 64, 256, height, width};
    const at::Tensor input = positive_batch(test), weight = weights(256, 64);
    const ForTwo both = pointwise_norm_act(input, weight, make_state(256), {.relu = true});
    ASSERT_TRUE(can_every_nth(both.second));
    EXPECT_FALSE(can_every_nth(both.first));
    const at::Tensor few = every_nth(both.second, stride);
    const at::Tensor expected = both.second.slice(2, 0, height, stride).slice(3, 0, width, stride);
    EXPECT_TRUE(torch::equal(few, expected)) << test.text();
    EXPECT_TRUE(few.is_contiguous(at::MemoryFormat::ChannelsLast));
  }
}

// A block whose shortcut has a stride: `joins` says whether its first convolution takes over the shortcut's gradient.
ForTwo strided_blocks_of(const Chain& chain, bool nth, bool joins) {
  const ForTwo middle =
      pointwise_norm_act(chain.input, chain.expand, chain.first, {.shortcut = chain.shortcut, .relu = true});
  const at::Tensor reduced =
      joins ? joined_pointwise(middle.first, chain.reduce) : torch::conv2d(middle.first, chain.reduce);
  const auto sliced = [](const at::Tensor& x) {
    return x.slice(2, 0, x.size(2), 2).slice(3, 0, x.size(3), 2).contiguous(at::MemoryFormat::ChannelsLast);
  };
  const at::Tensor shortcut = nth ? every_nth(middle.second, 2) : sliced(middle.second);
  return pointwise_norm_act(sliced(reduced.relu()), chain.expand_again, chain.second,
                            {.shortcut = shortcut, .relu = true});
}

TEST_F(CudaPointwise, JoinsTheGradientOfAShortcutWithAStride) {
  for (const Channels& channels : kChains) {
    const Chain chain = make_chain(channels);
    const at::Tensor gradient = random_batch({36, channels.middle, 8, 8}, at::kBFloat16);
    const auto gradients_of = [&](bool nth, bool joins) {
      return torch::autograd::grad({strided_blocks_of(chain, nth, joins).first}, chain.inputs(), {gradient});
    };
    const auto expected = gradients_of(/*nth=*/false, /*joins=*/false);
    for (const bool joins : {true, false}) {
      const auto found = gradients_of(/*nth=*/true, joins);
      for (std::size_t i = 0; i < found.size(); ++i) {
        expect_close(found[i], expected[i].to(at::kDouble),
                     c10::str(channels.middle, " to ", channels.reduced, ": gradient of input ", i));
      }
    }
  }
}

TEST_F(CudaPointwise, RefusesAThirdReader) {
  const Chain chain = make_chain();
  const ForTwo middle =
      pointwise_norm_act(chain.input, chain.expand, chain.first, {.shortcut = chain.shortcut, .relu = true});
  const at::Tensor reduced = joined_pointwise(middle.first, chain.reduce);
  const ForTwo last = pointwise_norm_act(reduced.relu(), chain.expand_again, chain.second, {.shortcut = middle.second});
  const at::Tensor loss = last.first.sum() + middle.second.sum();
  EXPECT_THROW(loss.backward(), std::exception);
  const ForTwo another = pointwise_norm_act(chain.input, chain.expand, make_state(256), {.relu = true});
  const at::Tensor read_twice = every_nth(another.second, 2).sum() + every_nth(another.second, 3).sum();
  EXPECT_THROW(read_twice.backward(), std::exception);
}

TEST_F(CudaPointwise, GivesTheSameEachTime) {
  for (const Channels& channels : kChains) {
    const Chain chain = make_chain(channels);
    const at::Tensor gradient = random_batch({36, channels.middle, 16, 15}, at::kBFloat16);
    const auto gradients = [&] {
      return torch::autograd::grad({blocks_of(chain, true).first}, chain.inputs(), {gradient});
    };
    const auto first = gradients();
    for (int time = 0; time < 20; ++time) {
      const auto again = gradients();
      for (std::size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(torch::equal(first[i], again[i])) << i;
    }
  }
}

TEST_F(CudaPointwise, TakesNothingElse) {
  const Case test{32, 64, 256, 16, 16};
  const at::Tensor input = positive_batch(test), weight = weights(256, 64);
  const BatchNormState state = make_state(256);
  EXPECT_TRUE(can_pointwise_norm_act(input, weight, state, {}));
  EXPECT_FALSE(can_pointwise_norm_act(input.to(at::kHalf), weight.to(at::kHalf), state, {}));
  EXPECT_FALSE(can_pointwise_norm_act(input.contiguous(), weight, state, {}));
  EXPECT_FALSE(can_pointwise_norm_act(input, weights(96, 64), make_state(96), {}));  // no multiple of 64
  EXPECT_FALSE(can_pointwise_norm_act(input, weights(64, 64), make_state(64), {}));  // too few outputs
  EXPECT_FALSE(can_pointwise_norm_act(input.slice(0, 0, 2), weight, state, {}));     // too few rows
  EXPECT_FALSE(can_pointwise_norm_act(input, weight, state, {.by_batch = false}));
  const at::Tensor transposed = weights(64, 256).detach().transpose(0, 1).requires_grad_();
  EXPECT_FALSE(can_pointwise_norm_act(input, transposed, state, {}));
}

}  // namespace
}  // namespace lockstep::kernels
