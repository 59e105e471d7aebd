#include <lockstep/data/tools/verify.h>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/data/image_folder.h>
#include <lockstep/data/tools/pack.h>

#include "data/packed_format.h"
#include "made_pictures.h"
#include "source_path.h"
#include "temporary_folder.h"

namespace lockstep::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Verify : public ::testing::Test {
 protected:
  Verify() {
    std::filesystem::create_directories(root() / "a");
    for (int i = 0; i < 4; ++i) add(std::to_string(i), test::jpeg_text(30, 20, static_cast<std::uint64_t>(i)));
  }
  std::filesystem::path root() const { return folder_.path() / "set"; }
  void add(const std::string& name, const std::string& text) { folder_.write("set/a/" + name + ".jpg", text); }
  std::filesystem::path packed(const PackOptions& options = {}) {
    auto path = folder_.path() / "set.lsp";
    pack(ImageFolder(root()), path, options);
    return path;
  }

  const test::TemporaryFolder folder_;
};

TEST_F(Verify, FindsAGoodFolderAndAGoodFileGood) {
  for (const auto& path : {root(), packed()}) {
    const VerifyResult result = verify(path, {.decode = true});
    EXPECT_TRUE(result.good()) << path;
    EXPECT_EQ(result.samples, 4);
    EXPECT_EQ(result.classes, 1);
  }
}

TEST_F(Verify, NamesTheBadFilesOfAFolder) {
  const std::string good = test::jpeg_text(30, 20, 0);
  add("5", good.substr(0, good.size() - 20));
  add("6", "<html>");
  add("7", "");
  const VerifyResult result = verify(root());
  EXPECT_EQ(result.bad_count, 3);
  ASSERT_EQ(result.bad.size(), 3U);
  EXPECT_EQ(result.bad[0].name, "a/5.jpg");
  EXPECT_EQ(result.bad[2].index, 6);
  EXPECT_THAT(result.bad[2].reason, HasSubstr("is empty"));
}

TEST_F(Verify, NamesADamagedSampleAndGoesOn) {
  const auto path = packed();
  std::string file = test::content(path);
  file[kPackedPage + 100] ^= 1;
  const VerifyResult result = verify(folder_.write("bad.lsp", file));
  EXPECT_EQ(result.bad_count, 1);
  EXPECT_EQ(result.bad[0].name, "a/0.jpg");
  EXPECT_TRUE(result.damage.empty());
}

TEST_F(Verify, FindsAFlippedByteInEveryPart) {
  const std::string good = test::content(packed({.form = PackOptions::Form::kPixels, .size = 4}));
  for (std::size_t i = 0; i < good.size(); i += 97) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x40);
    ASSERT_FALSE(verify(folder_.write("bad.lsp", bad), {.workers = 1}).good()) << i;
  }
}

TEST_F(Verify, DecodesAPackedFileWhenAsked) {
  add("9", "not a picture");
  const auto path = packed({.check = false});
  EXPECT_TRUE(verify(path).good());
  EXPECT_EQ(verify(path, {.decode = true}).bad_count, 1);
}

TEST_F(Verify, LooksAtBothPartsOfCifar) {
  const std::filesystem::path cifar = test::source_path("tests/data/cifar");
  std::vector<std::int64_t> seen;
  const VerifyResult good =
      verify(cifar / "cifar-10-batches-bin", {}, [&](std::int64_t done, std::int64_t) { seen.push_back(done); });
  EXPECT_TRUE(good.good());
  EXPECT_EQ(good.samples, 6);
  EXPECT_EQ(good.classes, 10);
  EXPECT_THAT(seen, ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(Verify, ATruncatedFileOfCifarIsDamage) {
  std::filesystem::copy(test::source_path("tests/data/cifar/cifar-10-batches-bin"), folder_.path() / "cifar");
  std::filesystem::resize_file(folder_.path() / "cifar/test_batch.bin", 100);
  const VerifyResult result = verify(folder_.path() / "cifar");
  EXPECT_FALSE(result.good());
  EXPECT_THAT(result.damage, HasSubstr("test_batch.bin"));
  EXPECT_EQ(result.samples, 5);
}

TEST_F(Verify, SaysWhenThereIsNothingToLookAt) {
  EXPECT_THROW(verify(folder_.path() / "absent.lsp"), UsageError);
  EXPECT_THROW(verify(folder_.write("notes.txt", "x")), UsageError);
  EXPECT_THAT(verify(folder_.write("half.lsp", "x")).damage, HasSubstr("too short"));
}

}  // namespace
}  // namespace lockstep::data
