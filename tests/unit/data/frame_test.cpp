#include "data/transforms/frame.h"

#include <gtest/gtest.h>

#include <numeric>

#include "data/transforms/row_sinks.h"

namespace lockstep::data {
namespace {

using Bytes = std::vector<std::uint8_t>;

// A gray picture whose pixels count up from 0.
struct Counting {
  explicit Counting(int width, int height) : size{width, height}, pixels(static_cast<std::size_t>(width * height)) {
    std::iota(pixels.begin(), pixels.end(), std::uint8_t{0});
  }
  ImageSize size;
  Bytes pixels;
};

Bytes rendered(const Counting& picture, const Frame& frame) {
  const ImageSize made = frame.size();
  Bytes out(static_cast<std::size_t>(made.width * made.height));
  ByteSink sink(out, static_cast<std::size_t>(made.width));
  RenderMemory memory;
  render({.pixels = picture.pixels.data(),
          .size = picture.size,
          .channels = 1,
          .region = {0, 0, picture.size.width, picture.size.height}},
         frame, pixel_kernels(), memory, sink);
  return out;
}

TEST(Frame, AWholePictureIsItself) {
  const Counting picture(4, 3);
  const Frame frame(picture.size);
  EXPECT_TRUE(frame.is_whole());
  EXPECT_EQ(rendered(picture, frame), picture.pixels);
}

TEST(Frame, CropsWithinCropsAreOneCrop) {
  const Counting picture(6, 5);
  Frame frame(picture.size);
  ASSERT_TRUE(frame.join(Crop{.region = {1, 1, 4, 4}}));
  ASSERT_TRUE(frame.join(Crop{.region = {1, 2, 2, 2}}));
  EXPECT_EQ(rendered(picture, frame), (Bytes{20, 21, 26, 27}));
}

TEST(Frame, ACropBehindAFlipCountsFromTheOtherSide) {
  const Counting picture(4, 2);
  Frame frame(picture.size);
  ASSERT_TRUE(frame.join(Flip{.horizontal = true}));
  ASSERT_TRUE(frame.join(Crop{.region = {0, 0, 3, 2}}));
  EXPECT_EQ(rendered(picture, frame), (Bytes{3, 2, 1, 7, 6, 5}));
  ASSERT_TRUE(frame.join(Flip{.vertical = true}));
  EXPECT_EQ(rendered(picture, frame), (Bytes{7, 6, 5, 3, 2, 1}));
  ASSERT_TRUE(frame.join(Crop{.region = {0, 0, 3, 1}}));
  EXPECT_EQ(rendered(picture, frame), (Bytes{7, 6, 5}));
}

TEST(Frame, WhatLiesBeyondThePictureIsFilled) {
  const Counting picture(2, 2);
  Frame frame(picture.size);
  ASSERT_TRUE(frame.join(Crop{.region = {-1, -1, 4, 3}, .fill = {9, 9, 9}}));
  EXPECT_EQ(rendered(picture, frame), (Bytes{9, 9, 9, 9, 9, 0, 1, 9, 9, 2, 3, 9}));
  ASSERT_TRUE(frame.join(Flip{.horizontal = true}));
  ASSERT_TRUE(frame.join(Crop{.region = {1, 0, 3, 3}}));
  EXPECT_EQ(rendered(picture, frame), (Bytes{9, 9, 9, 1, 0, 9, 3, 2, 9}));
}

TEST(Frame, AWindowWithNothingOfThePictureIsFilledWhole) {
  const Counting picture(2, 2);
  Frame frame(picture.size);
  ASSERT_TRUE(frame.join(Crop{.region = {-5, 0, 2, 2}, .fill = {7, 0, 0}}));
  EXPECT_EQ(rendered(picture, frame), (Bytes{7, 7, 7, 7}));
  EXPECT_EQ(frame.needed().width, 0);
}

TEST(Frame, PaddingAroundACropIsNotThePixelsThatWereCutOff) {
  Frame frame({6, 6});
  ASSERT_TRUE(frame.join(Crop{.region = {1, 1, 4, 4}}));
  EXPECT_FALSE(frame.join(Crop{.region = {-1, 0, 6, 4}}));
  EXPECT_EQ(frame.size(), (ImageSize{4, 4}));
}

TEST(Frame, TwoColorsOfPaddingOrTwoResizesAreTwoSteps) {
  Frame padded({6, 6});
  ASSERT_TRUE(padded.join(Crop{.region = {-1, -1, 8, 8}, .fill = {1, 1, 1}}));
  EXPECT_FALSE(padded.join(Crop{.region = {-1, -1, 10, 10}, .fill = {2, 2, 2}}));
  EXPECT_FALSE(padded.join(Scale{{4, 4}}));
  Frame resized({6, 6});
  ASSERT_TRUE(resized.join(Scale{{4, 4}}));
  EXPECT_FALSE(resized.join(Scale{{3, 3}}));
  EXPECT_TRUE(resized.join(Scale{{4, 4}}));
}

TEST(Frame, AResizeToTheSameSizeChangesNothing) {
  const Counting picture(7, 5);
  Frame frame(picture.size);
  ASSERT_TRUE(frame.join(Scale{{7, 5}}));
  EXPECT_TRUE(frame.is_whole());
}

TEST(Frame, OneColorStaysThatColorAtEverySize) {
  for (const int value : {0, 1, 127, 254, 255}) {
    for (const ImageSize to : {ImageSize{1, 1}, ImageSize{5, 3}, ImageSize{10, 20}, ImageSize{77, 51}}) {
      Counting picture(20, 10);
      std::fill(picture.pixels.begin(), picture.pixels.end(), static_cast<std::uint8_t>(value));
      Frame frame(picture.size);
      ASSERT_TRUE(frame.join(Scale{to}));
      for (const std::uint8_t found : rendered(picture, frame)) ASSERT_EQ(found, value);
    }
  }
}

TEST(Frame, HalfTheSizeIsTheMeanOfNeighboursWeightedByATriangle) {
  Counting picture(8, 1);
  picture.pixels = {0, 0, 0, 80, 160, 0, 0, 0};
  Frame frame(picture.size);
  ASSERT_TRUE(frame.join(Scale{{4, 1}}));
  // (0 + 3 * 0 + 3 * 80 + 160) / 8 = 50 and (80 + 3 * 160 + 3 * 0 + 0) / 8 = 70; the first pixel has three parts.
  const Bytes found = rendered(picture, frame);
  EXPECT_EQ(found[1], 50);
  EXPECT_EQ(found[2], 70);
  EXPECT_EQ(found[0], 0);
}

TEST(Frame, AWindowOfAResizeIsThatPartOfTheWhole) {
  const Counting picture(15, 17);
  Frame whole(picture.size), part(picture.size);
  ASSERT_TRUE(whole.join(Scale{{11, 23}}));
  ASSERT_TRUE(part.join(Scale{{11, 23}}));
  ASSERT_TRUE(part.join(Crop{.region = {3, 4, 5, 6}}));
  const Bytes all = rendered(picture, whole), some = rendered(picture, part);
  for (int y = 0; y < 6; ++y) {
    for (int x = 0; x < 5; ++x) {
      ASSERT_NEAR(some[static_cast<std::size_t>(y * 5 + x)], all[static_cast<std::size_t>((y + 4) * 11 + x + 3)], 1);
    }
  }
}

TEST(Frame, AFlippedResizeIsTheResizeFlipped) {
  const Counting picture(15, 16);
  Frame plain(picture.size), flipped(picture.size);
  ASSERT_TRUE(plain.join(Scale{{6, 7}}));
  ASSERT_TRUE(flipped.join(Scale{{6, 7}}));
  ASSERT_TRUE(flipped.join(Flip{.horizontal = true, .vertical = true}));
  Bytes expected = rendered(picture, plain);
  std::reverse(expected.begin(), expected.end());
  EXPECT_EQ(rendered(picture, flipped), expected);
}

TEST(Frame, APictureIsDecodedSmallerOnlyAsLongAsItIsLargeEnough) {
  const auto shrink = [](ImageSize picture, ImageSize to) {
    Frame frame(picture);
    frame.join(Scale{to});
    return frame.shrink();
  };
  EXPECT_EQ(shrink({447, 2000}, {224, 224}), 1);
  EXPECT_EQ(shrink({448, 2000}, {224, 224}), 2);
  EXPECT_EQ(shrink({1000, 900}, {224, 224}), 4);
  EXPECT_EQ(shrink({9000, 9000}, {224, 224}), 8);
  EXPECT_EQ(shrink({100, 100}, {224, 224}), 1);
}

TEST(Frame, NeedsNoMoreThanTheFilterReaches) {
  Frame crop({500, 375});
  crop.join(Crop{.region = {100, 50, 200, 100}});
  EXPECT_EQ(crop.needed(), (Region{100, 50, 200, 100}));
  crop.join(Scale{{50, 50}});
  EXPECT_EQ(crop.needed(), (Region{100, 50, 200, 100}));
  Frame center({1000, 1000});
  center.join(Scale{{500, 500}});
  center.join(Crop{.region = {200, 200, 100, 100}});
  EXPECT_EQ(center.needed(), (Region{399, 399, 202, 202}));
}

}  // namespace
}  // namespace lockstep::data
