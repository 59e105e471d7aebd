#include "train/metrics_file.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/text.h>

#include "temporary_folder.h"

namespace lockstep::test {
namespace {

using nlohmann::json;
using train::MetricsFile;

std::vector<json> lines_of(const std::filesystem::path& path) {
  std::vector<json> lines;
  for (const std::string& line : split(content(path), '\n')) {
    if (!line.empty()) lines.push_back(json::parse(line));
  }
  return lines;
}

train::StepReport steps_until(std::int64_t step) {
  return {.step = step,
          .epoch = 2,
          .recent = {.loss = 0.5,
                     .accuracy = {{"top1", 0.25}},
                     .samples = 64,
                     .samples_per_second = 100,
                     .split = {.data = 0.1, .communication = 0.2, .compute = 0.7}},
          .learning_rate = 0.01,
          .is_due = step % 20 == 0};
}

TEST(MetricsFile, HasALineForEveryReportThatIsDueAndForEachEpoch) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  MetricsFile file(path, 0, 4);
  file.on_steps(steps_until(20));
  file.on_steps(steps_until(25));
  file.on_epoch({.step = 30, .epoch = 2, .train = {.loss = 0.4}, .test = train::Metrics{.loss = 0.3}});
  const auto lines = lines_of(path);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].at("step"), 20);
  EXPECT_EQ(lines[0].at("epoch"), 2);
  EXPECT_EQ(lines[0].at("split"), "train");
  EXPECT_EQ(lines[0].at("span"), "steps");
  EXPECT_EQ(lines[0].at("loss"), 0.5);
  EXPECT_EQ(lines[0].at("top1"), 0.25);
  EXPECT_EQ(lines[0].at("lr"), 0.01);
  EXPECT_EQ(lines[0].at("samples_per_second"), 100);
  EXPECT_EQ(lines[0].at("data_wait"), 0.1);
  EXPECT_EQ(lines[0].at("compute"), 0.7);
  EXPECT_EQ(lines[0].at("communication"), 0.2);
  EXPECT_EQ(lines[0].at("ranks"), 4);
  EXPECT_GT(lines[0].at("time"), 1.7e9);
  EXPECT_EQ(lines[1].at("span"), "epoch");
  EXPECT_EQ(lines[2].at("split"), "test");
  EXPECT_EQ(lines[2].at("loss"), 0.3);
}

TEST(MetricsFile, ForgetsWhatCameAfterTheCheckpointAndWhatACrashHasCut) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  {
    MetricsFile file(path, 0, 1);
    for (const int step : {20, 40, 60}) file.on_steps(steps_until(step));
  }
  folder.write("metrics.jsonl", content(path) + "{\"step\": 8");
  MetricsFile again(path, 45, 1);
  again.on_steps(steps_until(60));
  std::vector<std::int64_t> steps;
  for (const auto& line : lines_of(path)) steps.push_back(line.at("step"));
  EXPECT_EQ(steps, (std::vector<std::int64_t>{20, 40, 60}));
  const MetricsFile anew(path, 0, 1);
  EXPECT_EQ(content(path), "");
}

}  // namespace
}  // namespace lockstep::test
