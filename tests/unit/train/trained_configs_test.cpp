// Every config that comes with Lockstep, and every section of it, trains: two steps on made-up data.
#include <gtest/gtest.h>

#include <lockstep/base/errors.h>
#include <lockstep/config/compose.h>
#include <lockstep/train/arguments.h>
#include <lockstep/train/run.h>

#include "source_path.h"
#include "temporary_folder.h"

namespace lockstep::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> all_configs() {
  std::vector<std::string> all;
  for (const auto& entry : fs::directory_iterator(test::source_path("configs"))) {
    all.push_back(entry.path().string());
    for (const auto& section : config::section_names(entry.path()))
      all.push_back(entry.path().string() + ":" + section);
  }
  std::sort(all.begin(), all.end());
  return all;
}

class TrainedConfig : public ::testing::TestWithParam<std::string> {};

TEST_P(TrainedConfig, TrainsTwoSteps) {
  const TemporaryFolder folder;
  train::Arguments arguments;
  arguments.words = {GetParam()};
  arguments.assignments = {"data.path=synthetic",
                           "data.fetch=false",
                           "data.cache=none",
                           "data.samples=4",
                           "steps=2",
                           "batch_size=2",
                           "batch_size_per_rank=null",
                           "accumulation=1",
                           "device=cpu",
                           "evaluation.every_epochs=0",
                           "schedule.metric=train.loss",  // what a plateau has without evaluations
                           "checkpoint.every_epochs=0",
                           "checkpoint.at_end=false",
                           "output=" + folder.path().string()};
  train::RunOptions options = train::compose_run(arguments);
  // Not every CPU has fp16; a level is more than its type.
  if (options.config.precision.level.starts_with("O") && options.config.precision.level != "O0") {
    options.config.precision.dtype = "bf16";
  }
  EXPECT_EQ(train::run(options), kExitSuccess);
}

std::string name_of(const ::testing::TestParamInfo<std::string>& config) {
  std::string name = fs::path(config.param).filename().string();
  for (char& letter : name) letter = std::isalnum(static_cast<unsigned char>(letter)) != 0 ? letter : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Configs, TrainedConfig, ::testing::ValuesIn(all_configs()), name_of);

}  // namespace
}  // namespace lockstep::test
