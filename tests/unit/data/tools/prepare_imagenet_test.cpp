#include <lockstep/data/tools/prepare_imagenet.h>

#include <gmock/gmock.h>

#include <lockstep/data/image_folder.h>
#include <lockstep/data/packed.h>

#include "base/folder_lock.h"
#include "data/tools/class_folders.h"
#include "imagenet_archives.h"
#include "mat_file.h"
#include "temporary_folder.h"
#include "throws_with.h"

namespace lockstep::data {
namespace {

using test::ThrowsWith;
using ::testing::ElementsAre;

// Pictures 1 to 4 of the validation set are of ids 2, 1, 3, 1.
constexpr const char* kIds = "2\n1\n3\n1\n";

class PrepareImagenet : public ::testing::Test {
 protected:
  std::filesystem::path in(const std::string& name) const { return folder_.path() / name; }
  std::filesystem::path out() const { return folder_.path() / "out"; }
  ImagenetArchives archives() const {
    return {.train = test::write_train(in("train.tar")),
            .val = test::write_validation(in("val.tar"), 4),
            .truth = test::write_tar(in("devkit.tar.gz"),
                                     {{"ILSVRC2012_devkit_t12/readme.txt", "hello"},
                                      {"ILSVRC2012_devkit_t12/data/meta.mat", test::meta_mat(test::kWnids)},
                                      {"ILSVRC2012_devkit_t12/data/ILSVRC2012_validation_ground_truth.txt", kIds}},
                                     true),
            .synsets = {}};
  }
  // The class of each validation picture, with a truth of another kind.
  std::vector<std::string> classes_by(const std::string& truth, const std::string& synsets = "") {
    std::filesystem::remove_all(out());
    ImagenetArchives given{.val = test::write_validation(in("val.tar"), 4), .truth = folder_.write("truth.txt", truth)};
    if (!synsets.empty()) given.synsets = folder_.write("synsets.txt", synsets);
    prepare_imagenet(given, out());
    std::vector<std::string> classes;
    for (int i = 1; i <= 4; ++i) {
      for (const std::string& wnid : test::kWnids) {
        if (std::filesystem::exists(out() / "val" / wnid / fmt::format("ILSVRC2012_val_{:08}.JPEG", i))) {
          classes.push_back(wnid);
        }
      }
    }
    return classes;
  }

  const test::TemporaryFolder folder_;
};

TEST_F(PrepareImagenet, MakesClassFolders) {
  const PrepareResult result = prepare_imagenet(archives(), out());
  EXPECT_EQ(result.train->pictures, 9);
  EXPECT_EQ(result.val->pictures, 4);
  const ImageFolder train(out() / "train"), val(out() / "val");
  EXPECT_THAT(train.classes(), ElementsAre("n01440764", "n02119789", "n03000134"));
  EXPECT_EQ(train.classes(), val.classes());
  EXPECT_EQ(train.size(), 9);
  EXPECT_EQ(train.name(0), "n01440764/n01440764_1.JPEG");
  EXPECT_EQ(val.name(0), "n01440764/ILSVRC2012_val_00000001.JPEG");
  EXPECT_EQ(val.name(1), "n02119789/ILSVRC2012_val_00000002.JPEG");
  EXPECT_EQ(test::content(out() / "train" / train.name(0)), test::class_files("n01440764", 3)[0].second);
}

TEST_F(PrepareImagenet, PacksTheSamePicturesWithTheSameLabels) {
  prepare_imagenet(archives(), out());
  prepare_imagenet(archives(), out(), {.pack = PackOptions{}});
  for (const char* split : {"train", "val"}) {
    const ImageFolder folder(out() / split);
    const PackedSet packed(out() / (std::string(split) + ".lsp"));
    ASSERT_EQ(packed.size(), folder.size());
    EXPECT_EQ(packed.classes(), folder.classes());
    std::map<std::string, std::int64_t> labels;
    for (std::int64_t i = 0; i < packed.size(); ++i) labels[packed.name(i)] = packed.get(i).label;
    for (std::int64_t i = 0; i < folder.size(); ++i) EXPECT_EQ(labels.at(folder.name(i)), folder.get(i).label);
  }
}

TEST_F(PrepareImagenet, ReadsTheTruthInEveryForm) {
  const auto expected = ElementsAre("n01440764", "n02119789", "n03000134", "n02119789");
  EXPECT_THAT(classes_by("n01440764\nn02119789\r\nn03000134\nn02119789\n"), expected);
  EXPECT_THAT(classes_by(kIds, "n02119789 kit fox\nn01440764 tench\nn03000134\n"), expected);
  EXPECT_THAT(classes_by("ImageId,PredictionString\n"
                         "ILSVRC2012_val_00000003,n03000134 85 1 499 272\n"
                         "ILSVRC2012_val_00000001,n01440764 1 2 3 4 n01440764 5 6 7 8\n"
                         "ILSVRC2012_val_00000002,n02119789 1 1 1 1\n"
                         "ILSVRC2012_val_00000004,n02119789 1 1 1 1\n"),
              expected);
}

TEST_F(PrepareImagenet, RefusesATruthThatIsNone) {
  EXPECT_THAT([&] { classes_by(kIds); }, ThrowsWith<UsageError>("nothing says which classes"));
  EXPECT_THAT([&] { classes_by(kIds, "n01440764\nn02119789\nn03000134\n"); },
              ThrowsWith<UsageError>("sorted by class"));
  EXPECT_THAT([&] { classes_by("1\n2\n99\n1\n", "n02119789\nn01440764\nn03000134\n"); }, ThrowsWith<UsageError>(":3:"));
  EXPECT_THAT([&] { classes_by("n01440764\nn0144\n"); }, ThrowsWith<UsageError>(":2:"));
  EXPECT_THAT([&] { classes_by("n01440764\nn02119789\nn03000134\n"); }, ThrowsWith<UsageError>("do not fit"));
  EXPECT_THAT([&] { classes_by("n01440764\nn02119789\nn03000134\nn01440764\nn01440764\n"); },
              ThrowsWith<UsageError>("no picture 5"));
  EXPECT_FALSE(std::filesystem::exists(out() / "val"));
}

TEST_F(PrepareImagenet, WhatIsCompleteIsNotWrittenAgain) {
  // The last class cannot be read.
  test::Files classes;
  for (const std::string& wnid : test::kWnids) {
    classes.emplace_back(wnid + ".tar", test::tar_text(test::class_files(wnid, 3)));
  }
  classes.back().second.resize(700);
  const auto broken = test::write_tar(in("broken.tar"), classes);
  EXPECT_THROW(prepare_imagenet({.train = broken}, out()), UsageError);
  EXPECT_TRUE(std::filesystem::exists(out() / "train/n01440764"));
  EXPECT_FALSE(std::filesystem::exists(out() / "train/n03000134"));
  folder_.write("out/train/n01440764/mark", "kept");
  const PrepareResult result = prepare_imagenet({.train = test::write_train(in("train.tar"))}, out());
  EXPECT_EQ(result.train->classes_there, 2);
  EXPECT_EQ(result.train->pictures, 3);
  EXPECT_EQ(test::content(out() / "train/n01440764/mark"), "kept");
  EXPECT_EQ(ImageFolder(out() / "train").size(), 9);
}

TEST_F(PrepareImagenet, TwoAtOnceAreNotInOneFolder) {
  std::filesystem::create_directories(out());
  const FolderLock other(out(), std::chrono::seconds(0));
  EXPECT_THAT([&] { prepare_imagenet(archives(), out(), {.lock_timeout = std::chrono::seconds(0)}); },
              ThrowsWith<TimeoutError>("another process writes into"));
  EXPECT_FALSE(std::filesystem::exists(out() / "train"));
}

TEST_F(PrepareImagenet, AFolderThatWasTakenAwayIsNotBegunAgainInTheMiddle) {
  FolderInMaking making(out());
  making.write("n01440764/first.JPEG", {});
  std::filesystem::remove_all(in(".out.partial"));
  EXPECT_THAT([&] { making.write("n01440764/second.JPEG", {}); }, ThrowsWith<RuntimeError>("cannot write"));
  EXPECT_THAT([&] { making.write("third.JPEG", {}); }, ThrowsWith<RuntimeError>("cannot write"));
  EXPECT_THAT([&] { making.finish(); }, ThrowsWith<RuntimeError>("cannot write"));
}

TEST_F(PrepareImagenet, ATruncatedArchiveIsFoundBeforeAnythingIsWritten) {
  const std::string train = test::content(test::write_train(in("train.tar")));
  const auto half = folder_.write("half.tar", train.substr(0, train.size() - 14'000));
  EXPECT_THROW(prepare_imagenet({.train = half}, out()), UsageError);
  EXPECT_FALSE(std::filesystem::exists(out() / "train"));
}

TEST_F(PrepareImagenet, NamesInArchivesAreNotTrusted) {
  const std::string tar = test::tar_text(test::class_files("n01440764", 1));
  for (const char* name : {"../n01440764.tar", "/tmp/n01440764.tar", "n01440764.tar.tar", "x/n01440764.tar", "evil"}) {
    EXPECT_THROW(prepare_imagenet({.train = test::write_tar(in("bad.tar"), {{name, tar}})}, out()), UsageError) << name;
  }
  for (const char* name : {"../../escaped.JPEG", "/tmp/escaped.JPEG", ".hidden", "a/b.JPEG", "two\nlines.JPEG"}) {
    const auto bad = test::write_tar(in("bad.tar"), {{"n01440764.tar", test::tar_text({{name, "x"}})}});
    EXPECT_THROW(prepare_imagenet({.train = bad}, out()), UsageError) << name;
  }
  const auto link = test::write_tar(in("bad.tar"), {{"n01440764.tar", test::tar_text({{"a.JPEG", "-> /etc/passwd"}})}});
  EXPECT_THAT([&] { prepare_imagenet({.train = link}, out()); }, ThrowsWith<UsageError>("no file"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "escaped.JPEG"));
}

TEST_F(PrepareImagenet, SaysWhatIsMissing) {
  EXPECT_THAT([&] { prepare_imagenet({}, out()); }, ThrowsWith<UsageError>("no archive"));
  EXPECT_THAT([&] { prepare_imagenet({.val = "val.tar"}, out()); }, ThrowsWith<UsageError>("devkit"));
  EXPECT_THAT([&] { prepare_imagenet({.train = in("absent.tar")}, out()); }, ThrowsWith<UsageError>("absent.tar"));
  EXPECT_THAT([&] { prepare_imagenet({.train = folder_.write("x.tar", "<html>")}, out()); },
              ThrowsWith<UsageError>("x.tar"));
}

}  // namespace
}  // namespace lockstep::data
