// lockstep data prepare as a user meets it.
#include <gmock/gmock.h>

#include <lockstep/data/packed.h>

#include "command.h"
#include "imagenet_archives.h"
#include "temporary_folder.h"

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(DataPrepare, TurnsImagenetsArchivesIntoFoldersOrPackedFiles) {
  const TemporaryFolder folder;
  const std::vector<std::string> words = {program_path("lockstep"),
                                          "data",
                                          "prepare",
                                          "imagenet",
                                          "--train",
                                          write_train(folder.path() / "train.tar"),
                                          "--val",
                                          write_validation(folder.path() / "val.tar", 3),
                                          "--truth",
                                          folder.write("truth.txt", "n01440764\nn02119789\nn03000134\n"),
                                          (folder.path() / "out").string()};
  const CommandResult folders = run_command(words);
  EXPECT_EQ(folders.exit_code, 0) << folders.err;
  EXPECT_THAT(folders.out, AllOf(HasSubstr("train: 9 pictures in 3 classes"), HasSubstr("val: 3 pictures in 3 classes"),
                                 HasSubstr("ImageNet's train has 1,281,167 pictures")));
  EXPECT_THAT(run_command(words).out, HasSubstr("was there already"));
  std::vector<std::string> packing = words;
  packing.insert(packing.end(), {"--pack", "--size", "8", "--raw"});
  const CommandResult packed = run_command(packing);
  EXPECT_EQ(packed.exit_code, 0) << packed.err;
  const data::PackedSet train(folder.path() / "out/train.lsp");
  EXPECT_EQ(train.size(), 9);
  EXPECT_EQ(train.get(0).height, 8);
}

TEST(DataPrepare, SaysWhatIsMissing) {
  const CommandResult result = run_command({program_path("lockstep"), "data", "prepare", "imagenet", "out"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--train"));
  EXPECT_THAT(run_command({program_path("lockstep"), "data", "prepare", "imagnet"}).err,
              HasSubstr("did you mean 'imagenet'?"));
}

TEST(DataPrepare, RefusesFlagsOfPackWithoutIt) {
  const CommandResult result = run_command(
      {program_path("lockstep"), "data", "prepare", "imagenet", "--train", "train.tar", "--size", "256", "out"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("--size"), HasSubstr("--pack")));
}

}  // namespace
}  // namespace lockstep::test
