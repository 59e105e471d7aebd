// What a training run puts into its event files.
#include "train/tensorboard_log.h"

#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/data/loader.h>
#include <lockstep/optim/make_optimizer.h>

#include "run_reader.h"
#include "temporary_folder.h"
#include "world.h"

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using train::KeptSamples;
using train::TensorboardKeys;
using train::TensorboardLog;
using train::Trainer;

constexpr std::int64_t kClasses = 3, kSamples = 24;

struct Net : nn::Model {
  Net() : Model({3, 4, 4}, kClasses) {}
  at::Tensor forward(at::Tensor input) override { return output(torch::relu(convolution(input)).flatten(1)); }
  torch::nn::Conv2d convolution = register_module("convolution", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 2, 3)));
  torch::nn::Linear output = register_module("output", torch::nn::Linear(2 * 2 * 2, kClasses));
};

data::Loader loader_of(data::Tail tail) {
  torch::manual_seed(3);
  return {data::tensor_dataset(torch::randn({kSamples, 3, 4, 4}), torch::randint(kClasses, {kSamples}, torch::kLong)),
          data::DistributedSampler(kSamples, world().id(), {.tail = tail}),
          {.batch_size = 4}};
}

// Two epochs on all ranks, of which rank 0 writes. What it wrote, and nothing on the others.
ReadRun train_with(const TensorboardKeys& keys, const std::filesystem::path& folder) {
  data::Loader data = loader_of(data::Tail::kDrop), test = loader_of(data::Tail::kUneven);
  KeptSamples samples(data, keys.images);
  torch::manual_seed(4);
  train::TrainerOptions options{.epochs = 2, .count_confusion = keys.confusion_matrix, .log_every = 1};
  options.step.measure_gradient_norm = keys.gradient_norm;
  Trainer trainer(std::make_shared<Net>(), samples, &test, world(), options);
  if (world().rank() == 0) {
    TensorboardLog::Run run{.folder = folder,
                            .settings = {{"optimizer.lr", "0.1", config::Place{}, true},
                                         {"optimizer.nesterov", "false", config::Place{}, true},
                                         {"model.name", "mine", config::Place{}, true},
                                         {"seed", "0", std::nullopt, true},
                                         {"output", "here", config::Place{}, false}},
                            .classes = {"cat", "dog", "owl"}};
    trainer.add(std::make_shared<TensorboardLog>(keys, run, trainer, samples));
  }
  trainer.train();
  return world().rank() == 0 ? read_run(folder) : ReadRun{};
}

std::vector<std::string> tags_of(const ReadRun& run) {
  std::vector<std::string> tags;
  for (const ReadValue& value : run.values) tags.push_back(value.tag);
  return tags;
}

const ReadValue& last(const ReadRun& run, const std::string& tag) {
  for (auto value = run.values.rbegin(); value != run.values.rend(); ++value) {
    if (value->tag == tag) return *value;
  }
  throw std::out_of_range(tag);
}

constexpr TensorboardKeys kNothing{.loss = false,
                                   .accuracy = false,
                                   .learning_rate = false,
                                   .loss_scale = false,
                                   .throughput = false,
                                   .data_wait = false,
                                   .communication = false,
                                   .hparams = false};

TEST(TensorboardLog, HasCurvesOfStepsEpochsAndTests) {
  const TemporaryFolder folder;
  const ReadRun run = train_with({}, folder.path());
  if (world().rank() != 0) return;
  EXPECT_THAT(tags_of(run), IsSupersetOf({"loss/train", "loss/train-epoch", "loss/test", "top1/train", "top1/test",
                                          "learning_rate", "time/samples_per_second", "time/data_wait"}));
  const std::int64_t steps = 2 * (kSamples / world().size() / 4);
  EXPECT_EQ(last(run, "loss/train").step, steps);
  EXPECT_EQ(last(run, "loss/test").step, steps);
  EXPECT_FLOAT_EQ(last(run, "learning_rate").scalar, 0.1F);
  EXPECT_GT(last(run, "time/samples_per_second").scalar, 0);
  EXPECT_EQ(run.purged_from, -1);
}

TEST(TensorboardLog, HasTheSettingsOfTheConfigWithTheResult) {
  const TemporaryFolder folder;
  train_with({}, folder.path());
  if (world().rank() != 0) return;
  const ReadHparams read = read_hparams(read_run(folder.path() / "hparams"));
  EXPECT_EQ(read.hparams,
            (tensorboard::Hparams{
                {"optimizer.lr", 0.1}, {"optimizer.nesterov", false}, {"model.name", std::string("mine")}}));
  EXPECT_THAT(read.metrics, IsSupersetOf({"hparam/test.top1", "hparam/train.loss"}));
}

TEST(TensorboardLog, HasNoMoreThanWasAskedFor) {
  const TemporaryFolder folder;
  auto keys = kNothing;
  EXPECT_FALSE(wants_tensorboard(keys));
  keys.gradient_norm = true;
  EXPECT_TRUE(wants_tensorboard(keys));
  const ReadRun run = train_with(keys, folder.path());
  if (world().rank() != 0) return;
  EXPECT_THAT(tags_of(run), AllOf(Contains("gradient_norm"), Each("gradient_norm")));
  EXPECT_GT(last(run, "gradient_norm").scalar, 0);
}

TEST(TensorboardLog, HasPicturesHistogramsGraphAndConfusion) {
  const TemporaryFolder folder;
  auto keys = kNothing;
  keys.images = 3;
  keys.graph = keys.confusion_matrix = true;
  keys.histograms_every = 2;
  const ReadRun run = train_with(keys, folder.path());
  if (world().rank() != 0) return;
  EXPECT_EQ(last(run, "samples").channels, 3);
  EXPECT_EQ(last(run, "weights/convolution.weight").histogram.num, 2 * 3 * 3 * 3);
  EXPECT_EQ(run.graphs.size(), 1U);
  bool has_table = false;
  for (const ReadValue& value : run.values) {
    has_table = has_table || value.bytes.find("| **owl** |") != std::string::npos;
  }
  EXPECT_TRUE(has_table);
  EXPECT_EQ(last(run, "confusion/test").step, 2 * (kSamples / world().size() / 4));
}

}  // namespace
}  // namespace lockstep::test
