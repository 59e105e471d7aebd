#include <lockstep/data/tools/pack.h>

#include <gmock/gmock.h>

#include <lockstep/data/decode.h>
#include <lockstep/data/image_folder.h>
#include <lockstep/data/open_pictures.h>
#include <lockstep/data/packed.h>
#include <lockstep/data/pipeline.h>

#include "made_pictures.h"
#include "temporary_folder.h"
#include "throws_with.h"

namespace lockstep::data {
namespace {

using test::ThrowsWith;
using Form = PackOptions::Form;

class Pack : public ::testing::Test {
 protected:
  Pack() {
    for (int i = 0; i < 12; ++i) {
      add(std::string(i < 5 ? "cat/" : "dog/") + std::to_string(i) + ".jpg", test::jpeg_text(40 + i, 60, seed(i)));
    }
  }
  static std::uint64_t seed(int i) { return static_cast<std::uint64_t>(i); }

  void add(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((source_.path() / name).parent_path());
    source_.write(name, text);
  }

  PackResult pack_it(const PackOptions& options = {}) { return pack(ImageFolder(source_.path()), target(), options); }
  std::filesystem::path target() const { return out_.path() / "out.lsp"; }

  const test::TemporaryFolder source_, out_;
};

TEST_F(Pack, KeepsTheFilesBytesNamesAndOrder) {
  const PackResult result = pack_it();
  const ImageFolder folder(source_.path());
  const auto packed = open_pictures(target());
  ASSERT_EQ(packed->size(), folder.size());
  EXPECT_EQ(result.samples, 12);
  EXPECT_EQ(result.bytes, std::filesystem::file_size(target()));
  EXPECT_EQ(packed->classes(), folder.classes());
  for (std::int64_t i = 0; i < folder.size(); ++i) {
    const Picture a = folder.get(i), b = packed->get(i);
    EXPECT_TRUE(std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin(), b.bytes.end())) << i;
    EXPECT_EQ(a.label, b.label);
    EXPECT_EQ(folder.name(i), packed->name(i));
  }
}

TEST_F(Pack, DoesNotDependOnTheNumberOfWorkers) {
  pack_it({.form = Form::kJpeg, .size = 32, .workers = 1});
  const std::string one = test::content(target());
  std::filesystem::remove(target());
  pack_it({.form = Form::kJpeg, .size = 32, .workers = 8});
  EXPECT_EQ(test::content(target()), one);
}

TEST_F(Pack, StoresPixelsOfTheSizeAsked) {
  pack_it({.form = Form::kPixels, .size = 20});
  const PackedSet packed(target());
  Image decoded;
  const ImageFolder folder(source_.path());
  const Picture file = folder.get(3), picture = packed.get(3);
  decode(file.bytes, 3, decoded);
  ASSERT_EQ(decoded.height(), 60);
  EXPECT_EQ(picture.form, Picture::Form::kPixels);
  EXPECT_EQ(picture.width, 20);
  EXPECT_EQ(picture.height, 20 * 60 / decoded.width());
  EXPECT_EQ(picture.channels, 3);
  const Picture whole{.form = Picture::Form::kPixels,
                      .bytes = std::as_bytes(decoded.pixels()),
                      .owner = {},
                      .width = decoded.width(),
                      .height = decoded.height(),
                      .channels = 3};
  Image expected(picture.width, picture.height, 3);
  Pipeline::Scratch scratch;
  Pipeline({resize(20)}).run(whole, RandomStream(0, 0, 0), scratch, expected.pixels());
  const auto pixels = std::as_bytes(expected.pixels());
  EXPECT_TRUE(std::equal(picture.bytes.begin(), picture.bytes.end(), pixels.begin(), pixels.end()));
}

TEST_F(Pack, APackedFileCanBePackedAgain) {
  pack_it({.form = Form::kPixels});
  const auto again = out_.path() / "again.lsp";
  pack(PackedSet(target()), again, {.form = Form::kJpeg, .size = 16});
  const PackedSet packed(again);
  EXPECT_EQ(packed.size(), 12);
  EXPECT_EQ(picture_size(packed.get(0).bytes), (ImageSize{16, 24}));
}

TEST_F(Pack, StopsAtABadPictureWithItsName) {
  add("dog/55.jpg", "<html>not found</html>");
  EXPECT_THAT([&] { pack_it(); }, ThrowsWith<SampleError>("'dog/55.jpg'"));
  EXPECT_FALSE(std::filesystem::exists(target()));
}

TEST_F(Pack, WhatItAdvisesAtABadPictureWorks) {
  add("dog/55.jpg", "<html>not found</html>");
  EXPECT_THAT([&] { pack_it(); }, ThrowsWith<SampleError>("remove '" + target().string() + ".partial' too"));
  EXPECT_EQ(pack_it({.most_bad = 1}).samples, 12);
  std::filesystem::remove(target());
  EXPECT_THROW(pack_it(), SampleError);
  std::filesystem::remove(source_.path() / "dog/55.jpg");
  std::filesystem::remove(out_.path() / "out.lsp.partial");
  EXPECT_EQ(pack_it().samples, 12);
}

TEST_F(Pack, LeavesBadPicturesOutUpToTheCap) {
  const std::string good = test::jpeg_text(50, 50, 1);
  add("cat/half.jpg", good.substr(0, good.size() / 2));
  add("dog/empty.jpg", "");
  EXPECT_THAT([&] { pack_it({.most_bad = 1}); }, ThrowsWith<SampleError>("dog/empty.jpg"));
  // What was begun with the smaller cap goes on with the larger.
  const PackResult result = pack_it({.most_bad = 2});
  EXPECT_EQ(result.samples, 12);
  ASSERT_EQ(result.left_out.size(), 2U);
  EXPECT_EQ(result.left_out[0].name, "cat/half.jpg");
  EXPECT_EQ(result.left_out[1].name, "dog/empty.jpg");
}

// Two pictures of one class; the second is longer than a JPEG can be.
class WithALongOne : public PictureSet {
 public:
  std::int64_t size() const override { return 2; }
  std::string name(std::int64_t index) const override { return index == 0 ? "a/short" : "a/long"; }
  const std::vector<std::string>& classes() const override { return classes_; }
  Picture get(std::int64_t index) const override {
    const int width = index == 0 ? 9 : 65'501;
    return {.form = Picture::Form::kPixels,
            .bytes = std::span(pixels_).first(static_cast<std::size_t>(width)),
            .owner = nullptr,
            .width = width,
            .height = 1,
            .channels = 1};
  }

 private:
  const std::vector<std::string> classes_ = {"a"};
  const std::vector<std::byte> pixels_ = std::vector<std::byte>(65'501);
};

TEST_F(Pack, APictureThatIsTooLongForJpegIsABadOne) {
  EXPECT_THAT([&] { pack(WithALongOne(), target(), {.form = Form::kJpeg}); }, ThrowsWith<SampleError>("'a/long'"));
  const PackResult result = pack(WithALongOne(), target(), {.form = Form::kJpeg, .most_bad = 1});
  EXPECT_EQ(result.samples, 1);
  ASSERT_EQ(result.left_out.size(), 1U);
  EXPECT_EQ(result.left_out[0].name, "a/long");
  EXPECT_EQ(pack(WithALongOne(), out_.path() / "raw.lsp", {.form = Form::kPixels}).samples, 2);
  EXPECT_THAT([&] { pack(WithALongOne(), out_.path() / "large.lsp", {.form = Form::kPixels, .size = 2}); },
              ThrowsWith<SampleError>("too long"));
}

TEST_F(Pack, EncodesAPictureOfManyBytes) {
  add("cat/large.jpg", test::jpeg_text(1600, 1200, 7));
  pack_it({.form = Form::kJpeg, .quality = 100});
  const PackedSet packed(target());
  Image decoded;
  const Picture large = packed.get(5);
  EXPECT_GT(large.bytes.size(), std::size_t{1} << 17);
  decode(large.bytes, 3, decoded);
  EXPECT_EQ(decoded.width(), 1600);
}

TEST_F(Pack, UncheckedTakesWhatIsThere) {
  add("dog/55.jpg", "<html>not found</html>");
  EXPECT_EQ(pack_it({.check = false}).samples, 13);
}

TEST_F(Pack, GoesOnOnlyWithTheSameSourceAndOptions) {
  add("dog/99.jpg", "bad");
  EXPECT_THROW(pack_it(), SampleError);
  EXPECT_THAT([&] { pack_it({.form = Form::kPixels}); }, ThrowsWith<UsageError>("other options"));
  add("dog/98.jpg", test::jpeg_text(8, 8, 3));
  EXPECT_THAT([&] { pack_it(); }, ThrowsWith<UsageError>("other pictures"));
}

}  // namespace
}  // namespace lockstep::data
