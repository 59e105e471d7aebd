// Whole training steps on a GPU, as they are and as CUDA graphs.
#include <lockstep/train/training_step.h>

#include <cstdlib>

#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/gpu/settings.h>
#include <lockstep/nn/registry.h>
#include <lockstep/optim/make_optimizer.h>

#include "world.h"

namespace lockstep::test {
namespace {

const at::Device kGpu(at::kCUDA, 0);

data::Batch make_batch(int step, std::int64_t size) {
  torch::manual_seed(static_cast<std::uint64_t>(step));
  return {torch::randn({size, 3, 32, 32}).to(kGpu).contiguous(at::MemoryFormat::ChannelsLast),
          torch::randint(10, {size}).to(kGpu),
          {}};
}

struct Trained {
  std::vector<torch::Tensor> parameters;
  train::StepTotals totals;
};

// Each step has another batch and another rate, and one batch is smaller than the others.
Trained train_some(const std::string& precision, bool graph) {
  torch::manual_seed(1);
  const auto model = nn::make_model("resnet18", {.num_classes = 10, .stem = nn::Stem::kCifar3x3});
  train::TrainingStep step(model, world(),
                           {.device = kGpu,
                            .precision = amp::parse_precision(precision),
                            .graph = graph,
                            .clip_norm = 5,
                            .optimizer =
                                [](const auto& groups) {
                                  return optim::make_optimizer("sgd", groups,
                                                               {.lr = 0.1, .weight_decay = 1e-3, .momentum = 0.9});
                                },
                            .count_top = {1, 5}});
  for (int i = 0; i < 12; ++i) {
    for (auto& group : step.optimizer().param_groups()) group.options().set_lr(0.02 / (1 + i));
    step.run(make_batch(i, i == 7 ? 5 : 8));
  }
  Trained trained{.totals = step.take_totals()};
  for (const auto& parameter : model->parameters()) trained.parameters.push_back(parameter.detach().cpu());
  return trained;
}

class EveryPrecision : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryPrecision, IsTheSameBitByBitAsAGraph) {
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);  // else cuBLAS is not deterministic
  const gpu::SettingsGuard exact({.tf32_convolutions = false, .deterministic = true});
  const Trained expected = train_some(GetParam(), false), found = train_some(GetParam(), true);
  for (std::size_t i = 0; i < expected.parameters.size(); ++i) {
    EXPECT_TRUE(found.parameters[i].equal(expected.parameters[i])) << "parameter " << i;
  }
  EXPECT_EQ(found.totals.loss, expected.totals.loss);
  EXPECT_EQ(found.totals.correct, expected.totals.correct);
  EXPECT_EQ(found.totals.samples, 11 * 8 + 5);
  EXPECT_EQ(found.totals.steps, 12);
}

INSTANTIATE_TEST_SUITE_P(TrainingStepOnGpu, EveryPrecision, ::testing::Values("fp32", "bf16", "O1", "O2", "O3"));

}  // namespace
}  // namespace lockstep::test
