// A training step on several ranks beside a plain loop on one.
#include <lockstep/train/training_step.h>

#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/base/errors.h>
#include <lockstep/optim/clip.h>
#include <lockstep/optim/make_optimizer.h>
#include <lockstep/parallel/not_finite_error.h>

#include "same_answers.h"
#include "throws_with.h"
#include "world.h"

namespace lockstep::test {
namespace {

using train::Mode;
using train::TrainingStep;
using train::TrainingStepOptions;

struct Net : nn::Model {
  Net() : Model({2, 8, 8}, 3) { register_module("net", net); }
  at::Tensor forward(at::Tensor input) override { return net->forward(input); }
  SmallNet net;
};

std::shared_ptr<Net> make_net() {
  torch::manual_seed(4);
  return std::make_shared<Net>();
}

data::Batch batch_of(const Samples& samples) {
  return {samples.inputs, samples.labels, {}};
}

// Weights decay, biases do not: the two groups of an optimizer have options of their own.
TrainingStepOptions options_for(Mode mode) {
  return {.mode = mode, .optimizer = [](const auto& groups) {
            return optim::make_optimizer("sgd", groups, {.lr = 0.1, .weight_decay = 0.05, .momentum = 0.9});
          }};
}

// What one process makes of the samples of all ranks, `batches` of them in each step.
std::shared_ptr<Net> train_alone(int batches, std::optional<double> clip_norm = {}) {
  auto net = make_net();
  std::vector<torch::Tensor> weights, biases;
  for (const auto& parameter : net->parameters()) (parameter.dim() > 1 ? weights : biases).push_back(parameter);
  const auto options = torch::optim::SGDOptions(0.1).momentum(0.9);
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(weights,
                      std::make_unique<torch::optim::SGDOptions>(torch::optim::SGDOptions(options).weight_decay(0.05)));
  groups.emplace_back(biases, std::make_unique<torch::optim::SGDOptions>(options));
  torch::optim::SGD sgd(groups, options);
  for (int step = 0; step < kSteps; ++step) {
    sgd.zero_grad();
    for (int i = 0; i < batches; ++i) {
      const Samples all = global_batch(step * batches + i, world().size());
      (loss_of(net->forward(all.inputs), all) / batches).backward();
    }
    if (clip_norm) optim::clip_grad_norm(net->parameters(), *clip_norm);
    sgd.step();
  }
  return net;
}

std::shared_ptr<Net> train_together(const TrainingStepOptions& options) {
  auto net = make_net();
  TrainingStep step(net, world(), options);
  for (int i = 0; i < kSteps; ++i) {
    std::vector<data::Batch> batches;
    for (int j = 0; j < options.accumulation; ++j) {
      batches.push_back(batch_of(rank_batch(i * options.accumulation + j, world().rank(), world().size())));
    }
    step.run(batches);
  }
  return net;
}

class EveryMode : public ::testing::TestWithParam<Mode> {};

TEST_P(EveryMode, TrainsAsOneRankWithAllSamples) {
  EXPECT_LT(difference(*train_together(options_for(GetParam())), *train_alone(1)), 1e-12);
}

TEST_P(EveryMode, AccumulatesBatches) {
  auto options = options_for(GetParam());
  options.accumulation = 3;
  EXPECT_LT(difference(*train_together(options), *train_alone(3)), 1e-12);
}

TEST_P(EveryMode, ClipsTheGradientsOfAllRanks) {
  auto options = options_for(GetParam());
  options.clip_norm = 0.3;
  const auto expected = train_alone(1, 0.3);
  ASSERT_GT(difference(*expected, *train_alone(1)), 1e-3) << "nothing was clipped";
  EXPECT_LT(difference(*train_together(options), *expected), 1e-12);
}

TEST_P(EveryMode, MeasuresTheNormOfTheGradientsOfAllRanksBeforeClipping) {
  auto options = options_for(GetParam());
  options.measure_gradient_norm = true;
  options.clip_norm = 0.01;
  const auto net = make_net(), alone = make_net();
  TrainingStep step(net, world(), options);
  step.run(batch_of(rank_batch(0, world().rank(), world().size())));
  const auto totals = step.take_totals();
  const Samples all = global_batch(0, world().size());
  loss_of(alone->forward(all.inputs), all).backward();
  EXPECT_EQ(totals.measured_steps, 1);
  EXPECT_NEAR(totals.gradient_norms, optim::gradient_norm(alone->parameters()).item<double>(), 1e-12);
  EXPECT_EQ(step.take_totals().measured_steps, 0);
}

TEST_P(EveryMode, LeavesFrozenParametersAlone) {
  const auto net = make_net();
  net->net->convolution->weight.requires_grad_(false);
  const auto before = net->net->convolution->weight.clone(), other = net->net->hidden->weight.detach().clone();
  TrainingStep step(net, world(), options_for(GetParam()));
  step.run(batch_of(rank_batch(0, world().rank(), world().size())));
  EXPECT_TRUE(net->net->convolution->weight.equal(before));
  EXPECT_FALSE(net->net->hidden->weight.equal(other));
}

TEST_P(EveryMode, TakesARankWithoutSamples) {
  const auto net = make_net();
  TrainingStep step(net, world(), options_for(GetParam()));
  Samples samples = rank_batch(0, world().rank(), world().size());
  if (world().rank() == 0) samples = {samples.inputs.narrow(0, 0, 0), samples.labels.narrow(0, 0, 0)};
  step.run(batch_of(samples));
  for (const auto& parameter : net->parameters()) EXPECT_TRUE(parameter.isfinite().all().item<bool>());
  EXPECT_EQ(step.take_totals().samples, world().rank() == 0 ? 0 : kRankBatch);
}

// The samples of all ranks but the last are good.
data::Batch batch_with_a_nan() {
  const Samples samples = rank_batch(0, world().rank(), world().size());
  if (world().rank() == world().size() - 1) samples.inputs[1][0][2][3] = std::nan("");
  return batch_of(samples);
}

TEST_P(EveryMode, NamesTheRankAndTheParameterOfANan) {
  TrainingStep step(make_net(), world(), options_for(GetParam()));
  EXPECT_THAT([&] { step.run(batch_with_a_nan()); },
              ThrowsWith<parallel::NotFiniteError>("found: rank " + std::to_string(world().size() - 1) + ": net."));
}

TEST_P(EveryMode, LeavesANanToTheLossScaler) {
  auto options = options_for(GetParam());
  options.precision.loss_scale = {.kind = amp::LossScale::Kind::kDynamic, .value = 1024};
  const auto net = make_net();
  TrainingStep step(net, world(), options);
  step.run(batch_with_a_nan());
  EXPECT_EQ(step.scaler().skipped_steps(), 1);
  EXPECT_EQ(difference(*net, *make_net()), 0);
}

INSTANTIATE_TEST_SUITE_P(Ranks, EveryMode, ::testing::Values(Mode::kDdp, Mode::kOptimizer, Mode::kZero, Mode::kSync),
                         [](const auto& mode) { return train::to_text(mode.param); });

// Rank 0 is late, and the others wait for it; each learns from its own samples alone.
TEST(TrainingStep, InModeBarrierRanksMeetAndNoMore) {
  const auto met = make_net(), apart = make_net();
  const auto samples = batch_of(rank_batch(0, world().rank(), world().size()));
  TrainingStep(apart, world(), options_for(Mode::kNone)).run(samples);
  TrainingStep step(met, world(), options_for(Mode::kBarrier));
  const auto now = [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()); };
  if (world().rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const at::Tensor begun = at::full({1}, now().count(), at::kDouble);
  step.run(samples);
  const double ended = now().count();
  world().broadcast(begun, 0);
  EXPECT_GE(ended, begun.item<double>());  // of rank 0
  EXPECT_EQ(difference(*met, *apart), 0);
}

TEST(TrainingStep, AddsUpLossesAndCorrectAnswersOfEverySample) {
  auto options = options_for(Mode::kDdp);
  options.count_top = {1, 3};
  options.accumulation = 2;
  const auto net = make_net();
  double loss = 0, correct = 0;
  std::vector<data::Batch> batches;
  for (int i = 0; i < 2; ++i) {
    Samples samples = rank_batch(i, world().rank(), world().size());
    if (i == 1) samples = {samples.inputs.narrow(0, 0, 3), samples.labels.narrow(0, 0, 3)};
    const at::Tensor scores = net->forward(samples.inputs).detach();
    loss += loss_of(scores, samples).item<double>() * static_cast<double>(samples.inputs.size(0));
    correct += scores.argmax(1).eq(samples.labels).sum().item<double>();
    batches.push_back(batch_of(samples));
  }
  TrainingStep step(net, world(), options);
  step.run(batches);
  const auto totals = step.take_totals();
  EXPECT_NEAR(totals.loss, loss, 1e-9);
  EXPECT_THAT(totals.correct, ::testing::ElementsAre(correct, 7));  // of three classes, all are among the first three
  EXPECT_EQ(totals.samples, 7);
  EXPECT_EQ(totals.steps, 1);
  EXPECT_EQ(step.take_totals().samples, 0);
}

TEST(TrainingStep, RefusesWhatDoesNotFit) {
  auto graph = options_for(Mode::kDdp);
  graph.graph = true;
  EXPECT_THROW(TrainingStep(make_net(), world(), graph), UsageError);
  auto none = options_for(Mode::kDdp);
  none.accumulation = 0;
  EXPECT_THROW(TrainingStep(make_net(), world(), none), UsageError);
  if (world().size() > 1) {
    EXPECT_THROW(TrainingStep(make_net(), world(), options_for(Mode::kDataParallel)), UsageError);
  }
}

}  // namespace
}  // namespace lockstep::test
