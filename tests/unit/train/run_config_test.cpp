#include <set>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/log.h>
#include <lockstep/config/compose.h>
#include <lockstep/config/difference.h>
#include <lockstep/train/run_config.h>
#include <lockstep/train/schedule_of.h>

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using train::RunConfig;

RunConfig read(const std::string& yaml) {
  RunConfig config;
  auto schema = train::schema_of(config);
  train::read_config(schema, config, config::parse_yaml(yaml, "a.yaml"));
  return config;
}

std::string refusal(const std::string& yaml) {
  try {
    read(yaml);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "it was read";
}

TEST(RunConfigKeys, AreDocumentedAndNamedOnce) {
  RunConfig config;
  std::set<std::string> paths;
  for (const auto& key : train::schema_of(config).keys()) {
    EXPECT_TRUE(paths.insert(key.path).second) << key.path;
    EXPECT_TRUE(key.meaning.ends_with(".")) << key.path << ": " << key.meaning;
    EXPECT_FALSE(key.type.empty()) << key.path;
  }
  EXPECT_GE(paths.size(), 80U);
}

// What --print-config prints and a run's folder keeps.
TEST(RunConfigKeys, WriteAConfigThatReadsBackTheSame) {
  const std::string given =
      "{batch_size: 256, name: 'a # b', stop: {accuracy: 75}, precision: {level: O2, loss_scale: 128.0, "
      "keep_batchnorm_fp32: False, dtype: fp16}, optimizer: {name: adam, betas: [0.9, 0.95]}, "
      "model: {name: net.pt, input_shape: [3, 64, 64]}, "
      "data: {path: 'c:\\d', transforms: [{random_crop: {size: 32, padding: 4}}, random_horizontal_flip]}}";
  RunConfig config, again, annotated;
  auto schema = train::schema_of(config);
  train::read_config(schema, config, config::parse_yaml(given, "a.yaml"));
  auto other = train::schema_of(again);
  train::read_config(other, again, config::parse_yaml(schema.to_yaml(), "b.yaml"));
  EXPECT_EQ(other.to_yaml(), schema.to_yaml());
  auto third = train::schema_of(annotated);
  train::read_config(third, annotated, config::parse_yaml(schema.to_annotated_yaml(), "c.yaml"));
  EXPECT_EQ(third.to_yaml(), schema.to_yaml());
  EXPECT_EQ(annotated.precision.loss_scale, "128.0");
  EXPECT_EQ(annotated.precision.keep_batchnorm_fp32, false);
  EXPECT_EQ(annotated.model.input_shape, (std::vector<std::int64_t>{3, 64, 64}));
  EXPECT_EQ(annotated.name, "a # b");
}

TEST(RunConfigKeys, RefuseOtherTypesWithFileLineKeyAndWhatWasExpected) {
  EXPECT_THAT(refusal("model: {name: resnet50}\nepochs: ten\n"),
              AllOf(StartsWith("a.yaml:2: 'epochs' does not fit"), HasSubstr("'ten'"),
                    HasSubstr("expected: a whole number of at least 0")));
  for (const char* text : {"batch_size: 0", "batch_size: 1.5", "batch_size: [1]", "optimizer: {lr: -1}",
                           "optimizer: {name: adam, betas: [0.9, 1]}", "precision: {keep_batchnorm_fp32: maybe}",
                           "ema: {decay: 1}", "stop: {accuracy: 101}", "data: {mixup: -1}", "data: {mix_chance: 0}",
                           "model: {input_shape: [3, 1.5]}", "data: {transforms: {a: 1, b: 2}}", "gpu: {graph: 1}"}) {
    EXPECT_THAT(refusal(text), AllOf(StartsWith("a.yaml:1: "), HasSubstr("does not fit"), HasSubstr("expected: ")))
        << text;
  }
  EXPECT_THAT(refusal("optimizer: sgd"), HasSubstr("'optimizer' is a section; did you mean 'optimizer.name'?"));
  EXPECT_THAT(refusal("precision: {level: O4}"), HasSubstr("'precision.level' cannot be 'O4'"));
  EXPECT_THAT(refusal("precision: {dtype: bf61}"), HasSubstr("did you mean 'bf16'?"));
  EXPECT_THAT(refusal("data: {tail: dorp}"), HasSubstr("did you mean 'drop'?"));
}

TEST(RunConfigKeys, RefuseAnotherNameWithTheNearest) {
  EXPECT_THAT(refusal("optimiser: {lr: 1}"), HasSubstr("a.yaml:1: unknown key 'optimiser'; did you mean 'optimizer'?"));
  EXPECT_THAT(refusal("lr: 1"), HasSubstr("unknown key 'lr'; did you mean 'optimizer.lr'?"));
  EXPECT_THAT(refusal("checkpoint: {keep_lats: 1}"), HasSubstr("in 'checkpoint'; did you mean 'keep_last'?"));
}

TEST(RunConfigKeys, ThatMayChangeOnResume_AreThoseThatDoNotShapeTraining) {
  RunConfig config;
  std::set<std::string> shaping;
  for (const auto& setting : train::schema_of(config).settings()) {
    if (setting.shapes_training) shaping.insert(setting.path);
  }
  for (const char* path : {"seed", "batch_size", "accumulation", "steps_per_epoch", "model.name", "optimizer.lr",
                           "schedule.rate", "precision.level", "data.transforms", "parallel.mode", "ema.decay"}) {
    EXPECT_TRUE(shaping.contains(path)) << path;
  }
  for (const char* path :
       {"name", "output", "epochs", "steps", "threads", "device", "data.path", "data.workers", "checkpoint.keep_last",
        "evaluation.every_epochs", "stop.minutes", "profile.nvtx", "parallel.backend", "log_every"}) {
    EXPECT_FALSE(shaping.contains(path)) << path;
  }
}

TEST(RunConfigChecks, OneBatchSizeIsEnough) {
  EXPECT_THAT(refusal("batch_size: 256\nbatch_size_per_rank: 64\n"),
              AllOf(StartsWith("a.yaml:2: the batch size is given twice"), HasSubstr("batch_size = 256 (a.yaml:1)"),
                    HasSubstr("--set batch_size=null")));
  EXPECT_EQ(read("batch_size: null\nbatch_size_per_rank: 64\n").batch_size_per_rank, 64);
}

TEST(RunConfigChecks, APlateauLooksTheWayItsMetricGoes) {
  EXPECT_THAT(refusal("schedule:\n  rate: plateau(patience=3)\n  metric: test.top1\n"),
              AllOf(StartsWith("a.yaml:2: the plateau looks the wrong way"),
                    HasSubstr("schedule.metric = test.top1 (a.yaml:3)"), HasSubstr("mode=max")));
  EXPECT_THAT(refusal("schedule: {rate: plateau(mode=max), metric: train.loss}"), HasSubstr("mode=min"));
  EXPECT_EQ(read("schedule: {rate: plateau(mode=max), metric: test.top5}").schedule.metric, "test.top5");
}

TEST(RunConfigChecks, AnOptimizerHasItsOwnOptions) {
  EXPECT_THAT(
      refusal("optimizer:\n  name: adam\n  momentum: 0.9\n"),
      AllOf(StartsWith("a.yaml:3: 'optimizer.momentum' is not for adam"), HasSubstr("optimizer.name = adam (a.yaml:2)"),
            HasSubstr("expected: one of sgd, lars"), HasSubstr("--set optimizer.momentum=null")));
  EXPECT_THAT(refusal("optimizer: {name: lamb, fused: false}"), HasSubstr("'optimizer.fused' is not for lamb"));
  EXPECT_EQ(read("optimizer: {name: adam, momentum: null, nesterov: false}").optimizer.name, "adam");
}

TEST(RunConfigChecks, AHookActsInTheModeOfTheRun) {
  EXPECT_THAT(refusal("parallel: {mode: optimizer, hook: power_sgd}"),
              AllOf(HasSubstr("'parallel.hook' does nothing in this mode"), HasSubstr("fp16 or bf16")));
  for (const char* mode : {"sync", "barrier", "none", "data-parallel"}) {
    EXPECT_THAT(refusal(std::string("parallel: {hook: fp16, mode: ") + mode + "}"), HasSubstr("does nothing")) << mode;
  }
  for (const char* mode : {"ddp", "zero", "optimizer"}) {
    EXPECT_EQ(read(std::string("parallel: {hook: fp16, mode: ") + mode + "}").parallel.hook, "fp16") << mode;
  }
}

TEST(RunConfigChecks, ARunHasAnEnd) {
  EXPECT_THAT(refusal("epochs: 0"), HasSubstr("a.yaml:1: the run has no end"));
  EXPECT_EQ(read("steps: 1000").epochs, 0);
  EXPECT_EQ(read("{steps: 1000, epochs: 2}").epochs, 2);
  EXPECT_EQ(read("{}").epochs, 90);
}

TEST(RunConfigChecks, WhatWaitsForEvaluationsGetsSome) {
  EXPECT_THAT(refusal("{stop: {accuracy: 0.9}, evaluation: {every_epochs: 0}}"), HasSubstr("'stop.accuracy' waits"));
  EXPECT_THAT(refusal("{stop: {patience: 3}, evaluation: {every_epochs: 0}}"), HasSubstr("'stop.metric' waits"));
  EXPECT_THAT(refusal("{schedule: {rate: plateau}, evaluation: {every_epochs: 0}}"),
              HasSubstr("'schedule.metric' waits"));
  EXPECT_EQ(read("{schedule: {rate: plateau, metric: train.loss}, evaluation: {every_epochs: 0}}").schedule.rate,
            "plateau");
}

std::string without_test(const std::string& yaml) {
  RunConfig config;
  auto schema = train::schema_of(config);
  train::read_config(schema, config, config::parse_yaml(yaml, "a.yaml"));
  try {
    train::require_nothing_of_test(config, schema.settings());
  } catch (const UsageError& error) {
    return error.what();
  }
  return "nothing waits";
}

TEST(RunConfigChecks, WhatWaitsForATestNeedsTestData) {
  EXPECT_THAT(without_test("stop: {accuracy: 0.9}"), StartsWith("a.yaml:1: 'stop.accuracy' waits for a test"));
  EXPECT_THAT(without_test("stop: {patience: 3}"), HasSubstr("'stop.metric' waits for a test"));
  EXPECT_THAT(without_test("schedule: {rate: plateau}"), HasSubstr("'schedule.metric' waits for a test"));
  EXPECT_EQ(without_test("{stop: {patience: 3, metric: train.loss}, checkpoint: {keep_best: 3}}"), "nothing waits");
}

std::string warning_of_rate(const std::string& yaml) {
  RunConfig config;
  auto schema = train::schema_of(config);
  train::read_config(schema, config, config::parse_yaml(yaml, "a.yaml"));
  ::testing::internal::CaptureStderr();
  log::configure({});
  train::warn_of_rate_of_zero(config, schema.settings());
  return ::testing::internal::GetCapturedStderr();
}

TEST(RunConfigChecks, WarnOfAScheduleThatWasMadeForAShorterRun) {
  EXPECT_EQ(warning_of_rate("{epochs: 30, schedule: {rate: polynomial(3)}}"),
            "warning: the learning rate is 0 after 3 of 30 epochs: schedule.rate = \"polynomial(3)\" (a.yaml:1)\n");
  EXPECT_THAT(warning_of_rate("{epochs: 4, schedule: {rate: cosine(3), clock: epoch-fractions, warmup: 1}}"),
              HasSubstr("0 after 3 of 4 epochs"));
  EXPECT_THAT(warning_of_rate("{steps: 900, schedule: {rate: cosine(300), clock: steps}}"),
              HasSubstr("0 after 300 of 900 steps"));
  for (const char* fine :
       {"{epochs: 3, schedule: {rate: polynomial(3)}}", "{epochs: 1, schedule: {rate: polynomial(3)}}",
        "{epochs: 30, schedule: {rate: step(3)}}", "{epochs: 30, schedule: {rate: cosine(3)+constant(0.1)}}",
        "{steps: 20, schedule: {rate: polynomial(3)}}", "{epochs: 30, schedule: {rate: plateau}}"}) {
    EXPECT_EQ(warning_of_rate(fine), "") << fine;
  }
}

TEST(RunConfigChecks, NameTheLineOfWhatCannotBeRead) {
  EXPECT_THAT(refusal("seed: 1\nschedule: {rate: cosin(90)}"),
              AllOf(StartsWith("a.yaml:2: 'schedule.rate': there is no"), HasSubstr("did you mean 'cosine'?")));
  EXPECT_THAT(refusal("precision: {loss_scale: dynmic}"), HasSubstr("expected: dynamic, none or a number above 0"));
  EXPECT_THAT(refusal("precision: {loss_scale: -4}"), HasSubstr("precision.loss_scale"));
  EXPECT_THAT(refusal("optimizer: {name: adam, betas: [0.9]}"), HasSubstr("expected: two numbers"));
  EXPECT_THAT(refusal("{epochs: 2, profile: {epoch: 3}}"), HasSubstr("never reached"));
}

TEST(Batches, AreDividedOverRanksAndAccumulation) {
  const RunConfig global = read("{batch_size: 256, accumulation: 2}");
  EXPECT_EQ(train::global_batch(global, 4), 256);
  EXPECT_EQ(train::batch_of_rank(global, 4), 32);
  const RunConfig per_rank = read("{batch_size_per_rank: 64, accumulation: 2}");
  EXPECT_EQ(train::global_batch(per_rank, 4), 512);
  EXPECT_EQ(train::batch_of_rank(per_rank, 4), 64);
  EXPECT_EQ(train::global_batch(read("{}"), 2), 128);
}

TEST(Batches, ThatCannotBeDivided_AreRefusedWithTheNearestThatCan) {
  const auto refused = [](const std::string& yaml, int ranks) {
    try {
      train::global_batch(read(yaml), ranks);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("it was divided");
  };
  EXPECT_THAT(refused("batch_size: 256", 3), AllOf(HasSubstr("256 over 3 ranks"), HasSubstr("255 or 258")));
  EXPECT_THAT(refused("{batch_size: 100, accumulation: 4}", 8), HasSubstr("96 or 128, or another multiple of 32"));
  EXPECT_THAT(refused("batch_size: 2", 4), HasSubstr("expected: 4, or another multiple of 4"));
}

double rate_at(const RunConfig& config, double epoch, int ranks = 1) {
  optim::LearningRate rate(train::schedule_of(config), train::learning_rate_of(config, ranks));
  rate.move_to({.step = static_cast<std::int64_t>(epoch * 10), .epoch = epoch});
  return rate.rate();
}

TEST(ScheduleOf, WarmsUpEpochByEpoch) {
  const RunConfig config = read("{optimizer: {lr: 0.8}, schedule: {rate: plateau(patience=0), warmup: 8}}");
  for (int epoch = 0; epoch < 8; ++epoch) EXPECT_DOUBLE_EQ(rate_at(config, epoch), 0.1 * (epoch + 1)) << epoch;
  EXPECT_DOUBLE_EQ(rate_at(config, 20), 0.8);
  EXPECT_EQ(train::schedule_of(config).plateau_start(), 8);
}

TEST(ScheduleOf, CountsWhatTheClockCounts) {
  const RunConfig steps = read("{optimizer: {lr: 1}, schedule: {warmup: 10, clock: steps}}");
  EXPECT_DOUBLE_EQ(rate_at(steps, 0), 0.1);
  EXPECT_DOUBLE_EQ(rate_at(steps, 0.5), 0.6);
  const RunConfig fractions = read("{optimizer: {lr: 1}, schedule: {warmup: 2, clock: epoch-fractions}}");
  EXPECT_DOUBLE_EQ(rate_at(fractions, 0.5), 0.25);
}

TEST(ScheduleOf, WarmsUpFromOneRanksRateWhereRanksScaleIt) {
  const RunConfig config = read("{optimizer: {lr: 0.1}, schedule: {rate: step(30), warmup: 5, scaling: linear}}");
  EXPECT_DOUBLE_EQ(rate_at(config, 0, 8), 0.1);
  EXPECT_DOUBLE_EQ(rate_at(config, 5, 8), 0.8);
  EXPECT_NEAR(rate_at(config, 30, 8), 0.08, 1e-12);
  const RunConfig from = read("{optimizer: {lr: 1}, schedule: {warmup: 4, warmup_from: 0.5}}");
  EXPECT_DOUBLE_EQ(rate_at(from, 0), 0.5);
  EXPECT_DOUBLE_EQ(rate_at(from, 2), 0.75);
}

}  // namespace
}  // namespace lockstep::test
