// What a config calls its data: found in all its forms, and where it is not found, in words.
#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/train/sources.h>

#include "one_rank.h"
#include "small_data.h"
#include "source_path.h"
#include "throws_with.h"

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using train::DataKeys;
using train::OpenedData;

OpenedData open(const DataKeys& keys) {
  return OpenedData(keys, one_rank());
}

std::string error_of(const DataKeys& keys) {
  try {
    open(keys);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(OpenedData, PathThatIsMissingSaysWhatToDo) {
  EXPECT_THAT(error_of({.path = "no/such/place"}),
              AllOf(HasSubstr("there is no data set 'no/such/place'"), HasSubstr("--data"), HasSubstr("data.fetch")));
  EXPECT_THAT(error_of({}), AllOf(HasSubstr("what to train on"), HasSubstr("synthetic")));
}

TEST(OpenedData, EmptyFoldersAndOtherFilesAreRefusedByName) {
  const TemporaryFolder folder;
  EXPECT_THAT(error_of({.path = folder.path().string()}),
              AllOf(HasSubstr(folder.path().string()), HasSubstr("is empty"), HasSubstr("data.fetch")));
  const auto text = folder.write("notes.txt", "no pictures");
  EXPECT_THAT(error_of({.path = text.string()}), HasSubstr("notes.txt' is no data set"));
  EXPECT_THAT(error_of({.path = folder.path().string()}), HasSubstr(folder.path().string()));  // no class folders
  EXPECT_THAT(error_of({.path = folder.write("cut.lsp", "LSP").string()}), HasSubstr("cut.lsp"));
}

TEST(OpenedData, MnistIsTheCopyThatComesAlong) {
  const OpenedData data = open({.path = "mnist"});
  EXPECT_EQ(data.train()->size(), 60'000);
  EXPECT_EQ(data.test()->size(), 10'000);
  EXPECT_EQ(data.classes(), 10);
}

TEST(OpenedData, CifarHasItsOwnTestPart) {
  const OpenedData data = open({.path = test::source_path("tests/data/cifar/cifar-10-batches-bin")});
  EXPECT_EQ(data.train()->size(), 5);
  EXPECT_EQ(data.test()->size(), 1);
}

TEST(OpenedData, TreeOfTrainAndValIsBothParts) {
  PictureTree tree;
  tree.put_all({"train/cat/0.jpg", "train/cat/1.jpg", "train/dog/0.jpg", "val/cat/0.jpg", "val/dog/0.jpg"});
  const OpenedData data = open({.path = tree.path().string()});
  EXPECT_THAT(data.class_names(), ElementsAre("cat", "dog"));
  EXPECT_EQ(data.train()->size(), 3);
  EXPECT_EQ(data.test()->size(), 2);
}

TEST(OpenedData, ValComesBeforeTestAndTestPathBeforeBoth) {
  PictureTree tree;
  tree.put_all({"train/cat/0.jpg", "test/cat/0.jpg", "test/cat/1.jpg"});
  EXPECT_EQ(open({.path = tree.path().string()}).test()->size(), 2);
  tree.put_all({"val/cat/0.jpg", "val/cat/1.jpg", "val/cat/2.jpg"});
  EXPECT_EQ(open({.path = tree.path().string()}).test()->size(), 3);
  EXPECT_EQ(open({.path = tree.path().string(), .test_path = tree.path() / "test"}).test()->size(), 2);
}

TEST(OpenedData, TreeWithoutATestPartHasNone) {
  PictureTree tree;
  tree.put_all({"train/cat/0.jpg"});
  EXPECT_EQ(open({.path = tree.path().string()}).test(), nullptr);
  EXPECT_EQ(open({.path = tree.path() / "train"}).test(), nullptr);
}

TEST(OpenedData, ClassMayBeCalledTrain) {
  PictureTree tree;
  tree.put_all({"car/0.jpg", "train/0.jpg", "train/1.jpg"});
  const OpenedData data = open({.path = tree.path().string()});
  EXPECT_THAT(data.class_names(), ElementsAre("car", "train"));
  EXPECT_EQ(data.train()->size(), 3);
}

TEST(OpenedData, PackedFilesAreOnePartEachOrPartsOfAFolder) {
  const TemporaryFolder folder;
  const auto train = write_pictures(folder.path() / "train.lsp", 6), val = write_pictures(folder.path() / "val.lsp", 4);
  EXPECT_EQ(open({.path = train.string()}).test(), nullptr);
  EXPECT_EQ(open({.path = train.string(), .test_path = val.string()}).test()->size(), 4);
  const OpenedData both = open({.path = folder.path().string()});
  EXPECT_EQ(both.train()->size(), 6);
  EXPECT_EQ(both.test()->size(), 4);
}

TEST(OpenedData, TestDataOfOtherClassesIsRefusedWithTheFirstThatDiffers) {
  PictureTree tree;
  tree.put_all({"train/cat/0.jpg", "train/dog/0.jpg", "val/cat/0.jpg", "val/dogs/0.jpg"});
  EXPECT_THAT(error_of({.path = tree.path().string()}),
              AllOf(HasSubstr("other classes"), HasSubstr("'dogs'"), HasSubstr("'dog'")));
  std::filesystem::remove_all(tree.path() / "val/dogs");
  EXPECT_THAT(error_of({.path = tree.path().string()}), AllOf(HasSubstr("1 classes"), HasSubstr("none")));
}

// Folders come class by class: the first so many would be of one class alone.
TEST(OpenedData, SamplesAreTakenAtEvenStepsFromBothParts) {
  PictureTree tree;
  tree.put_all({"train/a/0.jpg", "train/a/1.jpg", "train/a/2.jpg", "train/b/0.jpg", "train/b/1.jpg", "val/a/0.jpg",
                "val/b/0.jpg"});
  const OpenedData data = open({.path = tree.path().string(), .samples = 2});
  EXPECT_EQ(data.train()->size(), 2);
  EXPECT_EQ(data.train()->name(0), "a/0.jpg");
  EXPECT_EQ(data.train()->name(1), "a/2.jpg");
  EXPECT_EQ(open({.path = tree.path().string(), .samples = 4}).train()->name(3), "b/0.jpg");
  EXPECT_EQ(data.test()->size(), 2);
  EXPECT_EQ(data.classes(), 2);
  EXPECT_EQ(open({.path = tree.path().string(), .samples = 100}).train()->size(), 5);
}

TEST(OpenedData, ATestPathHasSomethingToTestWith) {
  PictureTree tree, other;
  tree.put_all({"train/a/0.jpg", "val/a/0.jpg"});
  other.put_all({"train/a/0.jpg"});
  EXPECT_THAT(error_of({.path = tree.path().string(), .test_path = other.path().string()}),
              AllOf(HasSubstr("nothing to test with"), HasSubstr("data.test_path")));
  EXPECT_THAT(error_of({.path = tree.path().string(), .test_path = "not/here"}),
              AllOf(HasSubstr("--set data.test_path=PATH"), ::testing::Not(HasSubstr("--data PATH"))));
}

TEST(OpenedData, MadeUpDataLeavesTheClassesToTheModel) {
  for (const char* path : {"synthetic", "synthetic:32x32", "synthetic:32x32:100"}) {
    const OpenedData data = open({.path = path});
    EXPECT_EQ(data.classes(), 0) << path;
    EXPECT_EQ(data.train(), nullptr) << path;
    EXPECT_THAT(error_of({.path = path, .test_path = "there"}), HasSubstr("leave data.test_path out")) << path;
  }
}

TEST(OpenedData, NothingIsBroughtWhenTheDataIsThere) {
  PictureTree tree;
  tree.put_all({"cat/0.jpg"});
  EXPECT_EQ(open({.path = tree.path().string(), .fetch = true, .set = "no such set"}).train()->size(), 1);
}

}  // namespace
}  // namespace lockstep::test
