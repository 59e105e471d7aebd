// Training on a GPU is repeated, and resumed, bit by bit where it is deterministic.
#include <lockstep/train/trainer.h>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <lockstep/data/loader.h>
#include <lockstep/gpu/settings.h>
#include <lockstep/nn/registry.h>
#include <lockstep/optim/make_optimizer.h>

#include "temporary_folder.h"
#include "world.h"

namespace lockstep::test {
namespace {

using train::Trainer;
using train::TrainerOptions;

constexpr std::int64_t kSamples = 64, kBatch = 16;

struct Way {
  const char* name;
  const char* precision;
  bool graph;
};

class OnGpu : public ::testing::TestWithParam<Way> {
 protected:
  static data::Loader make_loader() {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(7);
    const auto inputs = torch::randn({kSamples, 3, 32, 32}, generator);
    const auto labels = torch::randint(10, {kSamples}, generator, torch::kLong);
    return {data::tensor_dataset(inputs, labels),
            data::DistributedSampler(kSamples, world().id(), {.seed = 5}),
            {.batch_size = kBatch, .device = at::kCUDA}};
  }

  static TrainerOptions options(const std::filesystem::path& folder = {}) {
    TrainerOptions options{.epochs = 3,
                           .schedule = optim::cosine({.length = 3}),
                           .rate = {.rate = 0.05, .clock = optim::Clock::kEpochFractions},
                           .average = optim::ExponentialMovingAverageOptions{.decay = 0.9},
                           .checkpoint = {.folder = folder, .every_steps = 1, .keep = {.last = 100}},
                           .seed = 11};
    options.step.device = at::kCUDA;
    options.step.precision = amp::parse_precision(GetParam().precision);
    options.step.graph = GetParam().graph;
    options.step.optimizer = [](const auto& groups) {
      return optim::make_optimizer("sgd", groups, {.lr = 0.05, .weight_decay = 0.01, .momentum = 0.9});
    };
    return options;
  }

  static std::shared_ptr<nn::Model> make_net(int seed = 4) {
    torch::manual_seed(seed);
    return nn::make_model("resnet18", {.num_classes = 10, .stem = nn::Stem::kCifar3x3});
  }

  static std::shared_ptr<nn::Model> train(const std::filesystem::path& folder = {}, const std::string& resume = "") {
    const auto net = make_net(resume.empty() ? 4 : 5);
    data::Loader loader = make_loader();
    Trainer trainer(net, loader, nullptr, world(), options(folder));
    if (!resume.empty()) trainer.restore_checkpoint(resume);
    EXPECT_EQ(trainer.train().steps, 12);
    return net;
  }

  static ::testing::AssertionResult same_bits(const nn::Model& a, const nn::Model& b) {
    const auto of_b = b.named_parameters();
    for (const auto& named : a.named_parameters()) {
      if (!named->equal(*of_b.find(named.key()))) return ::testing::AssertionFailure() << named.key() << " differs";
    }
    return ::testing::AssertionSuccess();
  }

  const gpu::SettingsGuard settings{{.deterministic = true}};
};

TEST_P(OnGpu, TwoRunsAreEqual) {
  EXPECT_TRUE(same_bits(*train(), *train()));
}

TEST_P(OnGpu, AResumedRunIsEqualToAWholeOne) {
  const TemporaryFolder folder;
  const auto whole = train(folder.path() / "whole");
  for (const char* step : {"1", "5", "8"}) {
    EXPECT_TRUE(same_bits(*whole, *train(folder.path() / "again", folder.path() / "whole" / step))) << "from " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, OnGpu,
                         ::testing::Values(Way{"Fp32", "O0", false}, Way{"Bf16InAGraph", "bf16", true},
                                           Way{"O1", "O1", false}, Way{"O2InAGraph", "O2", true}),
                         [](const auto& way) { return way.param.name; });

}  // namespace
}  // namespace lockstep::test
