// A Trainer on several ranks: what it counts, and that it goes on where it stopped.
#include <lockstep/train/trainer.h>

#include <cmath>

#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/base/errors.h>
#include <lockstep/checkpoint/checkpoint.h>
#include <lockstep/checkpoint/find.h>
#include <lockstep/data/loader.h>
#include <lockstep/optim/make_optimizer.h>
#include <lockstep/train/mode.h>

#include "temporary_folder.h"
#include "throws_with.h"
#include "world.h"

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using train::Mode;
using train::Trainer;
using train::TrainerOptions;

constexpr std::int64_t kSamples = 30, kClasses = 3, kGlobalBatch = 6;

// With a normalization, whose statistics are buffers, and dropout, which draws from torch's generator.
struct Net : nn::Model {
  Net() : Model({2, 4, 4}, kClasses) {}
  at::Tensor forward(at::Tensor input) override {
    return output(dropout(norm(torch::relu(convolution(input)))).flatten(1));
  }
  torch::nn::Conv2d convolution = register_module("convolution", torch::nn::Conv2d(torch::nn::Conv2dOptions(2, 5, 3)));
  torch::nn::BatchNorm2d norm = register_module("norm", torch::nn::BatchNorm2d(5));
  torch::nn::Dropout dropout = register_module("dropout", torch::nn::Dropout(0.3));
  torch::nn::Linear output = register_module("output", torch::nn::Linear(5 * 2 * 2, kClasses));
};

std::shared_ptr<Net> make_net() {
  torch::manual_seed(4);
  return std::make_shared<Net>();
}

data::DatasetPtr make_samples(std::int64_t count) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(7);
  const auto inputs = torch::randn({count, 2, 4, 4}, generator);
  return data::tensor_dataset(inputs, torch::randint(kClasses, {count}, generator, torch::kLong));
}

data::Loader train_loader(std::int64_t samples = kSamples) {
  return {make_samples(samples),
          data::DistributedSampler(samples, world().id(), {.tail = data::Tail::kDrop, .seed = 5}),
          {.batch_size = kGlobalBatch / world().size()}};
}

data::Loader test_loader(std::int64_t samples = 17, std::int64_t batch = 4) {
  return {
      make_samples(samples),
      data::DistributedSampler(samples, world().id(), {.order = data::Order::kSequential, .tail = data::Tail::kUneven}),
      {.batch_size = batch}};
}

TrainerOptions options_for(Mode mode, const std::filesystem::path& folder = {}) {
  TrainerOptions options{.epochs = 3,
                         .schedule = optim::multi_step({.milestones = {1, 2}, .factor = 0.5}),
                         .rate = {.rate = 0.05},
                         .average = optim::ExponentialMovingAverageOptions{.decay = 0.9},
                         .checkpoint = {.folder = folder, .every_steps = 1, .keep = {.last = 100}},
                         .seed = 11};
  options.step.mode = mode;
  options.step.optimizer = [](const auto& groups) {
    return optim::make_optimizer("sgd", groups, {.lr = 0.05, .weight_decay = 0.01, .momentum = 0.9});
  };
  return options;
}

// One folder for all ranks.
class SharedFolder {
 public:
  SharedFolder() {
    if (world().rank() == 0) folder_.emplace();
    path_ = world().broadcast_text(folder_ ? folder_->path().string() : "");
  }
  ~SharedFolder() { world().barrier(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::optional<TemporaryFolder> folder_;
  std::filesystem::path path_;
};

// Of parameters, on all ranks; of buffers, on rank 0, whose they are in a checkpoint.
::testing::AssertionResult same_bits(const torch::nn::Module& a, const torch::nn::Module& b) {
  const auto compare = [](const auto& of_a, const auto& of_b) {
    for (const auto& named : of_a) {
      if (!named->equal(*of_b.find(named.key()))) return ::testing::AssertionFailure() << named.key() << " differs";
    }
    return ::testing::AssertionSuccess();
  };
  const auto parameters = compare(a.named_parameters(), b.named_parameters());
  return parameters && world().rank() == 0 ? compare(a.named_buffers(), b.named_buffers()) : parameters;
}

// This rank by itself. Every rank calls it.
Group alone() {
  std::optional<Group> self;
  for (int rank = 0; rank < world().size(); ++rank) {
    auto group = world().subgroup({rank});
    if (group) self = std::move(group);
  }
  return *self;
}

class TrainerIn : public ::testing::TestWithParam<Mode> {};

TEST_P(TrainerIn, GoesOnBitByBitFromAnyStep) {
  const SharedFolder folder;
  const auto whole = make_net();
  data::Loader data = train_loader(), tests = test_loader();
  Trainer trainer(whole, data, &tests, world(), options_for(GetParam(), folder.path() / "whole"));
  const auto result = trainer.train();
  ASSERT_EQ(result.steps, 15);
  for (const int step : {1, 4, 5, 7, 10, 14}) {
    auto net = std::make_shared<Net>();  // of other weights
    data::Loader again = train_loader(), tests_again = test_loader();
    auto options = options_for(GetParam());
    options.seed.reset();
    Trainer resumed(net, again, &tests_again, world(), options);
    resumed.restore_checkpoint(folder.path() / "whole" / std::to_string(step));
    EXPECT_EQ(resumed.step(), step);
    const auto end = resumed.train();
    EXPECT_TRUE(same_bits(*whole, *net)) << "from step " << step;
    EXPECT_EQ(end.last->test->loss, result.last->test->loss);
    EXPECT_NEAR(end.last->train.loss, result.last->train.loss, 1e-12);
    EXPECT_EQ(end.last->train.samples, kSamples);
  }
}

TEST_P(TrainerIn, CountsEachSampleOfAnEpochOnce) {
  data::Loader data = train_loader(), tests = test_loader();
  Trainer trainer(make_net(), data, &tests, world(), options_for(GetParam()));
  const auto metrics = trainer.train_one_epoch();
  EXPECT_EQ(metrics.samples, kSamples);
  EXPECT_EQ(metrics.steps, 5);
  EXPECT_EQ(trainer.epoch(), 1);
  EXPECT_GT(metrics.samples_per_second, 0);
  EXPECT_NEAR(metrics.split.data + metrics.split.compute + metrics.split.communication.value_or(0), 1, 1e-9);
}

INSTANTIATE_TEST_SUITE_P(Modes, TrainerIn, ::testing::Values(Mode::kDdp, Mode::kOptimizer, Mode::kZero, Mode::kSync),
                         [](const auto& mode) { return train::to_text(mode.param); });

// With all that has state of its own: a plateau, patience, master weights in float32, accumulation, short epochs.
TEST(Trainer, GoesOnBitByBitWithAllThatHasState) {
  const SharedFolder folder;
  const auto options_in = [](const std::filesystem::path& checkpoints) {
    auto options = options_for(Mode::kDdp, checkpoints);
    options.epochs = 6;
    options.schedule = optim::plateau({.factor = 0.5, .patience = 0});
    options.schedule_metric = "test.top1";  // less is better, by its mode: the rate falls now and then
    options.steps_per_epoch = 2;
    options.stop = {.patience = 5};
    options.step.accumulation = 2;
    options.step.precision = amp::parse_precision("O2", {.dtype = at::kBFloat16});
    options.step.optimizer = [](const auto& groups) { return optim::make_optimizer("adamw", groups); };
    return options;
  };
  const auto whole = make_net();
  data::Loader data = train_loader(), tests = test_loader();
  Trainer trainer(whole, data, &tests, world(), options_in(folder.path() / "whole"));
  const auto result = trainer.train();
  for (const int step : {1, 2, 5, 8, 11}) {
    const auto net = std::make_shared<Net>();
    data::Loader again = train_loader(), tests_again = test_loader();
    auto options = options_in({});
    options.seed.reset();
    Trainer resumed(net, again, &tests_again, world(), options);
    resumed.restore_checkpoint(folder.path() / "whole" / std::to_string(step));
    const auto end = resumed.train();
    EXPECT_TRUE(same_bits(*whole, *net)) << "from step " << step;
    EXPECT_EQ(end.last->learning_rate, result.last->learning_rate);
    EXPECT_EQ(end.outcome, result.outcome);
    EXPECT_EQ(end.steps, result.steps);
  }
}

TEST(Trainer, WritesTheCheckpointOfAStepThatEndsAnEpoch) {
  const SharedFolder folder;
  data::Loader data = train_loader();
  auto options = options_for(Mode::kDdp, folder.path() / "checkpoints");
  options.checkpoint.every_steps = 5;  // as many as an epoch has
  options.checkpoint.every_epochs = 0;
  options.checkpoint.at_end = false;
  options.epochs = 2;
  Trainer(make_net(), data, nullptr, world(), options).train();
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "checkpoints" / "5"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "checkpoints" / "10"));
}

TEST(Trainer, LeavesALaterBranchBehindWhenItGoesOnFromAnOlderCheckpoint) {
  const SharedFolder folder;
  auto options = options_for(Mode::kDdp, folder.path() / "checkpoints");
  options.checkpoint.keep.last = 2;
  {
    data::Loader data = train_loader();
    Trainer(make_net(), data, nullptr, world(), options).train();
  }
  data::Loader data = train_loader();
  options.steps = 15;
  Trainer trainer(make_net(), data, nullptr, world(), options);
  trainer.restore_checkpoint(folder.path() / "checkpoints" / "14");
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "checkpoints-after-14" / "15"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "checkpoints" / "15"));
  EXPECT_EQ(trainer.train().checkpoint, folder.path() / "checkpoints" / "15");
}

TEST(Trainer, GoesOnInALoopOfOnesOwnAfterItWasStopped) {
  data::Loader data = train_loader();
  const auto whole = make_net(), stopped = make_net();
  {
    data::Loader other = train_loader();
    Trainer calm(whole, other, nullptr, world(), options_for(Mode::kDdp));
    calm.train_one_epoch();
  }
  Trainer trainer(stopped, data, nullptr, world(), options_for(Mode::kDdp));
  trainer.request_stop();
  trainer.train_one_epoch();
  EXPECT_TRUE(trainer.stopped());
  EXPECT_EQ(trainer.epoch(), 0);
  EXPECT_EQ(trainer.step(), 1);
  EXPECT_EQ(trainer.train_one_epoch().samples, kSamples) << "of the whole epoch";
  EXPECT_FALSE(trainer.stopped());
  EXPECT_TRUE(same_bits(*whole, *stopped));
}

TEST(Trainer, DoesNotSaveAModelThatIsNotFinite) {
  const TemporaryFolder folder;
  const Group self = alone();
  data::Loader data(make_samples(kSamples), data::DistributedSampler(kSamples, self.id()),
                    {.batch_size = kGlobalBatch});
  const auto net = make_net();
  auto options = options_for(Mode::kDdp, folder.path() / "checkpoints");
  options.checkpoint.background = false;
  Trainer trainer(net, data, nullptr, self, options);
  {
    const torch::NoGradGuard no_gradients;
    net->output->weight.fill_(std::nan(""));
  }
  EXPECT_THAT([&] { trainer.save_checkpoint(); }, ThrowsWith<RuntimeError>("'output.weight' is not finite"));
  EXPECT_TRUE(checkpoint::newest_good(folder.path() / "checkpoints").checkpoint == std::nullopt);
}

TEST(Trainer, RefusesOptionsThatDoNotFit) {
  data::Loader data = train_loader();
  const auto refuses = [&](auto change, const std::string& words) {
    auto options = options_for(Mode::kDdp);
    change(options);
    EXPECT_THAT([&] { Trainer(make_net(), data, nullptr, world(), options); }, ThrowsWith<UsageError>(words));
  };
  refuses([](TrainerOptions& o) { o.epochs = 0; }, "at least 1 epoch");
  refuses([](TrainerOptions& o) { o.steps_per_epoch = -1; }, "-1");
  refuses([](TrainerOptions& o) { o.stop.accuracy = 0.9; },
          "the accuracy to stop at waits for a metric of the test set");
  refuses([](TrainerOptions& o) { o.stop = {.patience = 1, .metric = "train.top3"}; }, "does not exist");
  refuses([](TrainerOptions& o) { o.schedule = optim::plateau({}); }, "the plateau waits");
  refuses([](TrainerOptions& o) { o.test_views.shift = 4; }, "cannot be moved by 4 pixels");
}

class TestSet : public ::testing::TestWithParam<train::PictureViews> {};

// The mean over a picture's views, each by a pass of its own.
at::Tensor mean_of_views(nn::Model& net, const at::Tensor& pictures, const train::PictureViews& views) {
  const std::int64_t shift = views.shift, side = pictures.size(3);
  const at::Tensor wide = at::reflection_pad2d(pictures, {shift, shift, shift, shift});
  std::vector<at::Tensor> outputs;
  for (std::int64_t place = 0; place < (2 * shift + 1) * (2 * shift + 1); ++place) {
    const std::int64_t y = place / (2 * shift + 1), x = place % (2 * shift + 1);
    const at::Tensor moved = wide.slice(2, y, y + pictures.size(2)).slice(3, x, x + side);
    outputs.push_back(net.forward(moved));
    if (views.mirror) outputs.push_back(net.forward(moved.flip({3})));
  }
  return at::stack(outputs).mean(0);
}

TEST_P(TestSet, CountsEverySampleOnceAtAnyNumberOfRanks) {
  for (const std::int64_t samples : {1, 5, 17, 24}) {
    data::Loader data = train_loader(), tests = test_loader(samples);
    const auto net = make_net();
    auto options = options_for(Mode::kDdp);
    options.test_views = GetParam();
    options.count_confusion = true;
    Trainer trainer(net, data, &tests, world(), options);
    const auto metrics = trainer.validate_one_epoch();
    EXPECT_EQ(metrics.samples, samples);
    // As one process would have it, in one batch.
    const auto all = make_samples(samples);
    std::vector<at::Tensor> inputs, labels;
    for (std::int64_t i = 0; i < samples; ++i) {
      inputs.push_back(all->get(i).data);
      labels.push_back(all->get(i).target);
    }
    net->eval();
    const torch::NoGradGuard no_gradients;
    const auto outputs = mean_of_views(*net, torch::stack(inputs), GetParam());
    const auto targets = torch::stack(labels);
    EXPECT_NEAR(metrics.loss, torch::nn::functional::cross_entropy(outputs, targets).item<double>(), 1e-6);
    EXPECT_EQ(metrics.accuracy.at("top1"), outputs.argmax(1).eq(targets).sum().item<double>() / double(samples));
    EXPECT_EQ(metrics.accuracy.at("top5"), 1) << "of three classes";
    std::vector<std::int64_t> confusion(kClasses * kClasses);
    for (std::int64_t i = 0; i < samples; ++i) {
      ++confusion.at(targets[i].item<std::int64_t>() * kClasses + outputs[i].argmax().item<std::int64_t>());
    }
    EXPECT_EQ(metrics.confusion, confusion);
    net->train();
  }
}

INSTANTIATE_TEST_SUITE_P(Views, TestSet,
                         ::testing::Values(train::PictureViews{}, train::PictureViews{.mirror = true},
                                           train::PictureViews{.mirror = true, .shift = 1}));

TEST(Trainer, StopsOnAllRanksWhenOneAsksAndLeavesACheckpoint) {
  const SharedFolder folder;
  data::Loader data = train_loader();
  auto options = options_for(Mode::kDdp, folder.path() / "checkpoints");
  options.epochs = 1000;
  options.checkpoint.every_steps = 0;
  Trainer trainer(make_net(), data, nullptr, world(), options);
  struct Ask : train::Callback {
    void on_steps(const train::StepReport& report) override {
      if (report.step >= 7 && world().rank() == world().size() - 1) trainer->request_stop();
    }
    Trainer* trainer = nullptr;
  };
  const auto ask = std::make_shared<Ask>();
  ask->trainer = &trainer;
  trainer.add(ask);
  const auto result = trainer.train();
  EXPECT_EQ(result.outcome, train::Outcome::kInterrupted);
  EXPECT_GE(result.steps, 7);
  EXPECT_LT(result.steps, 4000);
  EXPECT_EQ(result.steps, world().all_reduce_value(result.steps, Reduce::kMax));
  world().barrier();
  EXPECT_EQ(checkpoint::read_manifest(*result.checkpoint).step, result.steps);
  EXPECT_NO_THROW(checkpoint::verify(*result.checkpoint));
}

TEST(Trainer, StopsAtTheAccuracyThatWasAskedForOrWhenPatienceEnds) {
  data::Loader data = train_loader(), tests = test_loader();
  auto options = options_for(Mode::kDdp);
  options.epochs = 50;
  options.stop.accuracy = 0.1;
  Trainer reaching(make_net(), data, &tests, world(), options);
  EXPECT_EQ(reaching.train().outcome, train::Outcome::kTargetReached);
  options.stop = {.patience = 2, .metric = "test.top5"};  // always 1: the first is the best
  Trainer losing(make_net(), data, &tests, world(), options);
  const auto result = losing.train();
  EXPECT_EQ(result.outcome, train::Outcome::kNoProgress);
  EXPECT_EQ(result.epochs, 3);
}

TEST(Trainer, NamesStepRankAndTensorOfALossThatIsNotFinite) {
  data::Loader data = train_loader();
  auto options = options_for(Mode::kOptimizer);
  options.step.by_optimizer.check_gradients = false;  // which would stop it earlier
  options.step.loss = [](const at::Tensor& outputs, const at::Tensor& targets) {
    const auto loss = torch::nn::functional::cross_entropy(outputs, targets);
    return world().rank() == world().size() - 1 ? loss * std::nan("") : loss;
  };
  Trainer trainer(make_net(), data, nullptr, world(), options);
  EXPECT_THAT([&] { trainer.train(); },
              ::testing::Throws<RuntimeError>(::testing::Property(
                  &std::exception::what, AllOf(HasSubstr("rank " + std::to_string(world().size() - 1)),
                                               HasSubstr("by step 1"), HasSubstr("parameter 'convolution.weight'")))));
}

TEST(Trainer, GoesOnAtAnotherNumberOfRanksWithTheSameSamples) {
  const SharedFolder folder;
  data::Loader together = train_loader();
  auto options = options_for(Mode::kZero, folder.path() / "checkpoints");
  options.steps = 7;
  Trainer(make_net(), together, nullptr, world(), options).train();
  world().barrier();
  const Group self = alone();
  const auto sampler = [] {
    return data::DistributedSampler(kSamples, {0, 1}, {.tail = data::Tail::kDrop, .seed = 5});
  };
  data::Loader alone(make_samples(kSamples), sampler(), {.batch_size = kGlobalBatch});
  auto options_alone = options_for(Mode::kDdp);
  options_alone.epochs = 2;
  Trainer trainer(make_net(), alone, nullptr, self, options_alone);
  trainer.restore_checkpoint(folder.path() / "checkpoints" / "7");
  auto expected = sampler();
  expected.set_epoch(1);
  for (int step = 5; step < 7; ++step) expected.next(kGlobalBatch);
  EXPECT_EQ(alone.state(), expected.state());
  EXPECT_EQ(alone.next()->samples, expected.next(kGlobalBatch));
}

TEST(Trainer, RefusesTheCheckpointOfAnotherModel) {
  const SharedFolder folder;
  data::Loader data = train_loader();
  auto options = options_for(Mode::kDdp, folder.path() / "checkpoints");
  options.steps = 1;
  Trainer(make_net(), data, nullptr, world(), options).train();
  struct Other : nn::Model {
    Other() : Model({2, 4, 4}, kClasses) {}
    at::Tensor forward(at::Tensor input) override { return output(input.flatten(1)); }
    torch::nn::Linear output = register_module("output", torch::nn::Linear(2 * 4 * 4, kClasses));
  };
  Trainer other(std::make_shared<Other>(), data, nullptr, world(), options_for(Mode::kDdp));
  EXPECT_THAT([&] { other.restore_checkpoint(folder.path() / "checkpoints" / "1"); },
              ThrowsWith<UsageError>("convolution.weight"));
}

}  // namespace
}  // namespace lockstep::test
