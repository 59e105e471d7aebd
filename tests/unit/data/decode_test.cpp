#include <lockstep/data/decode.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>

#include <gmock/gmock.h>

#include <lockstep/data/picture.h>
#include <lockstep/data/random_stream.h>

#include "pictures.h"
#include "throws_with.h"

namespace lockstep::data {
namespace {

using test::bytes_of;
using test::ThrowsWith;

std::string picture(const std::string& name) {
  return test::content(test::pictures_folder() / "good" / name);
}

// The whole picture, perhaps made smaller.
Image whole(const std::string& content, int shrink, int channels) {
  const ImageSize size = picture_size(bytes_of(content));
  Image image;
  decode(bytes_of(content), {.width = size.width, .height = size.height}, shrink, channels, image);
  return image;
}

Region random_region(ImageSize size, RandomStream& random) {
  const auto below = [&](int limit) { return static_cast<int>(random.below(static_cast<std::uint64_t>(limit))); };
  const int left = below(size.width), top = below(size.height);
  return {.left = left, .top = top, .width = 1 + below(size.width - left), .height = 1 + below(size.height - top)};
}

bool covers(const Region& outer, const Region& inner) {
  return outer.left <= inner.left && outer.top <= inner.top && outer.left + outer.width >= inner.left + inner.width &&
         outer.top + outer.height >= inner.top + inner.height;
}

class EveryPicture : public ::testing::TestWithParam<std::filesystem::path> {};

// The place of the region in the shrunk picture follows from where the squares of the whole one lie.
TEST_P(EveryPicture, PartEqualsTheInsideOfTheWhole_BitByBit) {
  const std::string content = test::content(GetParam());
  const ImageSize size = picture_size(bytes_of(content));
  RandomStream random(1, 2, 3);
  for (const int channels : {1, 3}) {
    for (const int shrink : {1, 2, 4, 8}) {
      Image all;
      const Decoded frame =
          decode(bytes_of(content), {.width = size.width, .height = size.height}, shrink, channels, all);
      for (int trial = 0; trial < 60; ++trial) {
        const Region asked = random_region(size, random);
        Image image;
        const Decoded part = decode(bytes_of(content), asked, shrink, channels, image);
        ASSERT_EQ(part.shrink, frame.shrink);
        ASSERT_TRUE(covers(part.region, asked));
        ASSERT_EQ(part.region.width, image.width() * part.shrink);
        ASSERT_EQ(part.region.height, image.height() * part.shrink);
        ASSERT_LT(part.region.width, asked.width + 2 * part.shrink);
        const int left = (part.region.left - frame.region.left) / part.shrink;
        const int top = (part.region.top - frame.region.top) / part.shrink;
        for (int y = 0; y < image.height(); ++y) {
          const std::uint8_t* expected = all.row(top + y) + std::ptrdiff_t{left} * channels;
          ASSERT_TRUE(std::equal(image.row(y), image.row(y) + image.row_bytes(), expected))
              << "row " << y << " of " << asked.width << " x " << asked.height << " at " << asked.left << ", "
              << asked.top << " by 1/" << shrink;
        }
      }
    }
  }
}

// Each claim of a file that ends too early must be found out, whatever part of it is asked for.
TEST_P(EveryPicture, TruncatedAtAnyLength_IsRefused) {
  std::string content = test::content(GetParam());
  if (const auto trailing = content.find("bytes that a camera"); trailing != std::string::npos)
    content.resize(trailing);
  Image image;
  for (std::size_t length = 0; length < content.size(); ++length) {
    // A copy of its own, so that the address sanitizer sees a read beyond it.
    const std::vector<char> cut(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(length));
    const auto encoded = std::as_bytes(std::span(cut));
    ASSERT_THROW(decode(encoded, {.width = 1, .height = 1}, 1, 3, image), SampleError) << length;
    ASSERT_THROW(decode(encoded, 3, image), SampleError) << length;
  }
}

INSTANTIATE_TEST_SUITE_P(Decode, EveryPicture, ::testing::ValuesIn(test::good_pictures()), [](const auto& picture) {
  std::string name = picture.param.filename().string();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
});

int largest_difference(const Image& one, const Image& other) {
  int largest = 0;
  for (std::size_t i = 0; i < one.bytes(); ++i) {
    largest = std::max(largest, std::abs(one.pixels()[i] - other.pixels()[i]));
  }
  return largest;
}

// libjpeg's transform rounds rows before columns, so a JPEG whose rows are stored as columns differs in the last bit of
// a component, which is up to two in a color.
void expect_upright(const std::string& kind, int shrink, int largest_of_transposed) {
  const Image expected = whole(picture("exif_1" + kind), shrink, 3);
  for (int value = 2; value <= 8; ++value) {
    const Image found = whole(picture("exif_" + std::to_string(value) + kind), shrink, 3);
    ASSERT_EQ(found.width(), expected.width()) << "orientation " << value << kind;
    ASSERT_EQ(found.height(), expected.height()) << "orientation " << value << kind;
    EXPECT_LE(largest_difference(found, expected), value <= 4 ? 0 : largest_of_transposed)
        << "orientation " << value << kind << " by 1/" << shrink;
  }
}

TEST(Decode, EightOrientationsOfOnePicture_GiveTheSamePixels) {
  expect_upright(".png", 1, 0);
  for (const int shrink : {1, 2, 4, 8}) expect_upright(".jpg", shrink, 2);
}

TEST(Decode, ShrunkPartOfAMirroredPicture_StandsOutOverItsLeftEdge) {
  // 61 columns in squares of 8 from the right: the eighth reaches three columns too far.
  std::string content = picture("420.jpg");
  const std::string exif(
      "\xff\xe1\0\x22"
      "Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x02\0\0\0\0\0\0\0",
      36);
  content.insert(2, exif);
  Image image;
  const Decoded part = decode(bytes_of(content), {.width = 9, .height = 8}, 8, 3, image);
  EXPECT_EQ(part.region, (Region{.left = -3, .top = 0, .width = 16, .height = 8}));
  EXPECT_EQ(image.width(), 2);
}

TEST(Decode, PngIsNeverShrunk) {
  const std::string content = picture("rgb.png");
  Image image;
  const Region asked{.left = 3, .top = 5, .width = 20, .height = 10};
  const Decoded part = decode(bytes_of(content), asked, 8, 3, image);
  EXPECT_EQ(part.shrink, 1);
  EXPECT_EQ(part.region, asked);
}

TEST(Decode, SixteenBitsKeepTheUpperEight) {
  const Image gray = whole(picture("gray_16.png"), 1, 1);
  const auto [low, high] = std::minmax_element(gray.pixels().begin(), gray.pixels().end());
  EXPECT_LT(*low, 10);
  EXPECT_EQ(*high, 255);
  EXPECT_GT(std::count_if(gray.pixels().begin(), gray.pixels().end(), [](int v) { return v > 50 && v < 200; }), 500);
}

TEST(Decode, ManyThreadsAtOnce_DecodeAsOneDoes) {
  std::vector<std::string> contents;
  std::vector<Image> expected;
  for (const auto& path : test::good_pictures()) {
    contents.push_back(test::content(path));
    expected.push_back(whole(contents.back(), 1, 3));
  }
  std::atomic<int> differences = 0;
  {
    std::vector<std::jthread> threads;
    for (std::size_t first = 0; first < 4; ++first) {
      threads.emplace_back([&, first] {
        Image image;
        for (std::size_t i = 0; i < contents.size(); ++i) {
          const std::size_t which = (first * 13 + i) % contents.size();
          decode(bytes_of(contents[which]), 3, image);
          if (!std::ranges::equal(image.pixels(), expected[which].pixels())) ++differences;
        }
      });
    }
  }
  EXPECT_EQ(differences, 0);
}

TEST(Decode, RefusesARegionThatIsNotInside) {
  const std::string content = picture("420.jpg");
  Image image;
  for (const Region& region : {Region{.left = -1, .width = 5, .height = 5}, Region{.left = 60, .width = 2, .height = 1},
                               Region{.top = 47, .width = 1, .height = 1}, Region{.width = 0, .height = 1},
                               Region{.left = 1, .width = 2147483647, .height = 1}}) {
    EXPECT_THAT([&] { decode(bytes_of(content), region, 1, 3, image); }, ThrowsWith<UsageError>("61 x 47 pixels"));
  }
  EXPECT_THAT([&] { decode(bytes_of(content), {.width = 1, .height = 1}, 3, 3, image); },
              ThrowsWith<UsageError>("1 / 3"));
  EXPECT_THAT([&] { decode(bytes_of(content), 2, image); }, ThrowsWith<UsageError>("1 or 3"));
}

TEST(Decode, RefusesWhatIsLargerThanItsLimit) {
  Image image;
  for (const char* name : {"420.jpg", "rgb.png"}) {
    const std::string content = picture(name);
    const DecodeLimits exact{.pixels = 2867}, less{.pixels = 2866};  // 61 x 47
    EXPECT_NO_THROW(decode(bytes_of(content), 3, image, exact));
    EXPECT_THROW(decode(bytes_of(content), 3, image, less), SampleError);
    EXPECT_THROW(picture_size(bytes_of(content), less), SampleError);
  }
}

}  // namespace
}  // namespace lockstep::data
