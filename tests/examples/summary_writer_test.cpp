#include <set>

#include <gmock/gmock.h>

#include "command.h"
#include "run_reader.h"
#include "temporary_folder.h"

namespace lockstep::test {
namespace {

TEST(SummaryWriterExample, WritesARunWithCurvesWeightsPicturesAndAGraph) {
  const TemporaryFolder folder;
  const CommandResult result = run_command({program_path("summary_writer"), folder.path().string(), "3"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ::testing::HasSubstr("tensorboard --logdir " + folder.path().string()));
  const ReadRun run = read_run(folder.path());
  std::set<std::string> tags;
  for (const ReadValue& value : run.values) tags.insert(value.tag);
  EXPECT_THAT(tags, ::testing::IsSupersetOf(
                        {"about/text_summary", "digits", "is it a 7", "train/loss", "weights/conv1.weight"}));
  EXPECT_EQ(run.graphs.size(), 1U);
  EXPECT_EQ(read_run(folder.path() / "accuracy/test").values.size(), 1U);
  EXPECT_TRUE(read_hparams(read_run(folder.path() / "result")).success);
}

}  // namespace
}  // namespace lockstep::test
