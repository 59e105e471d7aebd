// The files in configs/: each section can be read, its transforms can be made, and it says what the practice that it
// comes from says.
#include <filesystem>
#include <set>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/config/compose.h>
#include <lockstep/data/make_transform.h>
#include <lockstep/data/pipeline.h>
#include <lockstep/train/arguments.h>

#include "source_path.h"

namespace lockstep::test {
namespace {

using ::testing::IsSupersetOf;

const std::filesystem::path kConfigs = test::source_path("configs");

train::RunConfig config_of(const std::string& word) {
  return train::compose_run({.words = {(kConfigs / word).string()}}).config;
}

// "cifar100.yaml", and "cifar100.yaml:bs128" for each of its sections.
std::vector<std::string> all_sections() {
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(kConfigs)) {
    const std::string file = entry.path().filename().string();
    all.push_back(file);
    for (const std::string& section : config::section_names(entry.path())) all.push_back(file + ":" + section);
  }
  return all;
}

data::Transforms make_all(const std::vector<config::Named>& named) {
  data::Transforms transforms;
  for (const auto& one : named) transforms.push_back(data::make_transform(one.name, one.parameters));
  return transforms;
}

TEST(Configs, CanAllBeReadAndDivided) {
  const auto all = all_sections();
  EXPECT_GE(all.size(), 50U);
  for (const std::string& word : all) {
    SCOPED_TRACE(word);
    const auto config = config_of(word);
    EXPECT_FALSE(config.data.path.empty());
    for (const int ranks : {1, 2, 4, 8}) EXPECT_GE(train::batch_of_rank(config, ranks), 1);
    EXPECT_NO_THROW(data::Pipeline(make_all(config.data.transforms)));
    EXPECT_NO_THROW(data::Pipeline(make_all(config.data.test_transforms)));
  }
}

TEST(Configs, HaveTheLadderByItsNames) {
  const std::vector<std::string> ladder = {
      "bs128",      "bs256",          "bs256-amp",           "bs256-amp-nhwc",    "bs256-amp-nhwc-extra-opts",
      "bs256-prof", "bs256-amp-prof", "bs256-amp-nhwc-prof", "bs128-opt",         "bs256-amp-nhwc-extra-opts-prof",
      "bs512-opt",  "bs1024-opt",     "bs2048-opt",          "bs1024-warmup-opt", "bs2048-warmup-opt"};
  EXPECT_THAT(config::section_names(kConfigs / "cifar100.yaml"), IsSupersetOf(ladder));
  EXPECT_THAT(config::section_names(kConfigs / "cifar10.yaml"), IsSupersetOf(ladder));
}

struct Rung {
  std::string section;
  std::int64_t batch, epochs;
  double rate, warmup;
  std::string level, layout;
  bool fused, autotune;
};

TEST(Cifar, HasTheTutorialsValues) {
  const std::vector<Rung> rungs = {{"bs128", 128, 100, 0.1, 0, "O0", "contiguous", false, false},
                                   {"bs256", 256, 100, 0.14, 0, "O0", "contiguous", false, false},
                                   {"bs256-amp", 256, 100, 0.14, 0, "O1", "contiguous", false, false},
                                   {"bs256-amp-nhwc", 256, 100, 0.14, 0, "O1", "channels-last", false, false},
                                   {"bs256-amp-nhwc-extra-opts", 256, 100, 0.14, 0, "O1", "channels-last", true, true},
                                   {"bs128-opt", 128, 100, 0.1, 0, "O1", "channels-last", true, true},
                                   {"bs512-opt", 512, 120, 0.2, 0, "O1", "channels-last", true, true},
                                   {"bs1024-opt", 1024, 120, 0.28, 0, "O1", "channels-last", true, true},
                                   {"bs2048-opt", 2048, 120, 0.4, 0, "O1", "channels-last", true, true},
                                   {"bs1024-warmup-opt", 1024, 120, 0.28, 8, "O1", "channels-last", true, true},
                                   {"bs2048-warmup-opt", 2048, 120, 0.4, 16, "O1", "channels-last", true, true}};
  for (const char* file : {"cifar100.yaml", "cifar10.yaml"}) {
    for (const Rung& rung : rungs) {
      SCOPED_TRACE(file + (":" + rung.section));
      const auto config = config_of(file + (":" + rung.section));
      EXPECT_EQ(config.batch_size, rung.batch);
      EXPECT_EQ(config.epochs, rung.epochs);
      EXPECT_EQ(config.optimizer.lr, rung.rate);
      EXPECT_EQ(config.optimizer.momentum, 0.9);
      EXPECT_EQ(config.optimizer.weight_decay, 5e-4);
      EXPECT_EQ(config.schedule.rate, "plateau(patience=10, factor=0.2)");
      EXPECT_EQ(config.schedule.metric, "test.loss");
      EXPECT_EQ(config.schedule.warmup, rung.warmup);
      EXPECT_EQ(config.precision.level, rung.level);
      EXPECT_EQ(config.layout, rung.layout);
      EXPECT_EQ(config.optimizer.fused, rung.fused);
      EXPECT_EQ(config.gpu.autotune, rung.autotune);
      EXPECT_EQ(config.model.stem, "cifar");
      EXPECT_EQ(config.data.workers, 6);
      EXPECT_EQ(config.evaluation.batch_size_per_rank, 128);
      EXPECT_EQ(config.data.transforms.size(), 4U);
    }
  }
  EXPECT_EQ(config_of("cifar10.yaml:bs2048-opt").data.path, "data/cifar10");
}

TEST(Cifar, ProfiledTwinsDifferInNothingButWhatTheProfilerNeeds) {
  for (const std::string section : {"bs256", "bs256-amp", "bs256-amp-nhwc", "bs256-amp-nhwc-extra-opts"}) {
    const auto twin = config_of("cifar100.yaml:" + section + "-prof");
    EXPECT_EQ(twin.epochs, 2);
    EXPECT_EQ(twin.steps_per_epoch, 100);
    EXPECT_EQ(twin.profile.epoch, 2);
    EXPECT_EQ(twin.checkpoint.every_epochs, 0);
    EXPECT_FALSE(twin.checkpoint.at_end);
    const auto plain = config_of("cifar100.yaml:" + section);
    EXPECT_EQ(twin.precision.level, plain.precision.level);
    EXPECT_EQ(twin.layout, plain.layout);
    EXPECT_EQ(twin.optimizer.fused, plain.optimizer.fused);
    EXPECT_EQ(twin.batch_size, plain.batch_size);
  }
}

TEST(ImageNet, HasTheScriptsValues) {
  for (const std::string level : {"O0", "O1", "O2", "O3", "bf16"}) {
    const auto config = config_of("imagenet.yaml:resnet50-" + level);
    EXPECT_EQ(config.model.name, "resnet50");
    EXPECT_EQ(config.precision.level, level);
    EXPECT_EQ(config.optimizer.lr, 0.1);
    EXPECT_EQ(config.optimizer.weight_decay, 1e-4);
    EXPECT_EQ(config.schedule.rate, "step(30)");
    EXPECT_EQ(config.epochs, 90);
  }
  for (const std::string model : {"alexnet", "vgg11", "vgg16", "vgg16_bn", "vgg19", "vgg19_bn"}) {
    const auto config = config_of("imagenet.yaml:" + model);
    EXPECT_EQ(config.model.name, model);
    EXPECT_EQ(config.optimizer.lr, 0.01);
  }
}

}  // namespace
}  // namespace lockstep::test
