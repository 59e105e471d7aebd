#include "data/transforms/pixel_operations.h"

#include <gtest/gtest.h>

#include <vector>

namespace lockstep::data {
namespace {

using Bytes = std::vector<std::uint8_t>;

Image image_of(int width, int height, int channels, const Bytes& pixels) {
  Image image(width, height, channels);
  std::copy(pixels.begin(), pixels.end(), image.pixels().begin());
  return image;
}

Bytes bytes_of(const Image& image) {
  return {image.pixels().begin(), image.pixels().end()};
}

TEST(PixelOperations, BrightnessMultipliesAndCutsOff) {
  Image image = image_of(4, 1, 1, {0, 10, 100, 200});
  adjust_brightness(image, 1.5);
  EXPECT_EQ(bytes_of(image), (Bytes{0, 15, 150, 255}));
}

TEST(PixelOperations, ContrastOfZeroIsTheMeanGray) {
  Image image = image_of(2, 1, 3, {0, 0, 0, 255, 255, 255});
  adjust_contrast(image, 0);
  EXPECT_EQ(bytes_of(image), Bytes(6, 128));
}

TEST(PixelOperations, SaturationOfZeroIsGray) {
  Image image = image_of(1, 1, 3, {255, 0, 0});
  adjust_saturation(image, 0);
  EXPECT_EQ(bytes_of(image), (Bytes{76, 76, 76}));
}

TEST(PixelOperations, AThirdOfATurnMakesRedGreen) {
  Image image = image_of(1, 1, 3, {255, 0, 0});
  turn_hue(image, 1.0 / 3);
  EXPECT_EQ(bytes_of(image), (Bytes{0, 255, 0}));
}

TEST(PixelOperations, GrayHasNoHueToTurn) {
  Image image = image_of(1, 1, 3, {90, 90, 90});
  turn_hue(image, 0.4);
  EXPECT_EQ(bytes_of(image), (Bytes{90, 90, 90}));
}

TEST(PixelOperations, LevelsChangeEachValueByItself) {
  const Bytes values = {0, 100, 128, 255};
  const auto after = [&](const auto& operation) {
    Image image = image_of(4, 1, 1, values);
    operation(image);
    return bytes_of(image);
  };
  EXPECT_EQ(after([](Image& image) { posterize(image, 1); }), (Bytes{0, 0, 128, 128}));
  EXPECT_EQ(after([](Image& image) { posterize(image, 8); }), values);
  EXPECT_EQ(after([](Image& image) { solarize(image, 128); }), (Bytes{0, 100, 127, 0}));
  EXPECT_EQ(after([](Image& image) { invert(image); }), (Bytes{255, 155, 127, 0}));
}

TEST(PixelOperations, AutoContrastStretchesEachChannel) {
  Image image = image_of(3, 1, 3, {50, 7, 0, 100, 7, 128, 150, 7, 255});
  auto_contrast(image);
  EXPECT_EQ(bytes_of(image), (Bytes{0, 7, 0, 127, 7, 128, 255, 7, 255}));
}

TEST(PixelOperations, EqualizeLeavesAPictureOfOneValueAlone) {
  Image image = image_of(40, 40, 1, Bytes(1600, 33));
  equalize(image);
  EXPECT_EQ(bytes_of(image), Bytes(1600, 33));
}

TEST(PixelOperations, SharpnessOfZeroSmoothsAllButTheBorder) {
  Image image = image_of(3, 3, 1, {13, 13, 13, 13, 26, 13, 13, 13, 13}), spare;
  adjust_sharpness(image, spare, 0);
  EXPECT_EQ(bytes_of(image), (Bytes{13, 13, 13, 13, 18, 13, 13, 13, 13}));
}

TEST(PixelOperations, AQuarterTurnGoesAgainstTheClock) {
  for (const Interpolation how : {Interpolation::kNearest, Interpolation::kBilinear}) {
    Image image = image_of(2, 2, 1, {1, 2, 3, 4}), spare;
    transform_affine(image, spare, rotation({2, 2}, 90), how, {});
    EXPECT_EQ(bytes_of(image), (Bytes{2, 4, 1, 3}));
  }
}

TEST(PixelOperations, ATranslationFillsWhatItLeaves) {
  Image image = image_of(3, 1, 1, {1, 2, 3}), spare;
  transform_affine(image, spare, translation({3, 1}, 1, 0), Interpolation::kNearest, {9, 9, 9});
  EXPECT_EQ(bytes_of(image), (Bytes{9, 1, 2}));
}

TEST(PixelOperations, AShearMovesEachRowByItsHeight) {
  Image image = image_of(3, 3, 1, {1, 2, 3, 4, 5, 6, 7, 8, 9}), spare;
  transform_affine(image, spare, shearing(1, 0), Interpolation::kNearest, {});
  // A row is sampled at its middle, half a pixel further for half a pixel down.
  EXPECT_EQ(bytes_of(image), (Bytes{2, 3, 0, 6, 0, 0, 0, 0, 0}));
}

TEST(PixelOperations, PaddingContinuesThePicture) {
  const auto padded = [](PadMode mode) {
    Image image = image_of(3, 1, 1, {1, 2, 3}), spare;
    crop_padded(image, spare, {.region = {-4, 0, 11, 1}, .mode = mode, .fill = {9, 9, 9}});
    return bytes_of(image);
  };
  EXPECT_EQ(padded(PadMode::kConstant), (Bytes{9, 9, 9, 9, 1, 2, 3, 9, 9, 9, 9}));
  EXPECT_EQ(padded(PadMode::kEdge), (Bytes{1, 1, 1, 1, 1, 2, 3, 3, 3, 3, 3}));
  EXPECT_EQ(padded(PadMode::kReflect), (Bytes{1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3}));
  EXPECT_EQ(padded(PadMode::kSymmetric), (Bytes{3, 3, 2, 1, 1, 2, 3, 3, 2, 1, 1}));
}

TEST(PixelOperations, ToGrayMakesOneChannelOrThreeThatAreEqual) {
  Image image = image_of(2, 1, 3, {255, 255, 255, 0, 255, 0}), spare;
  to_gray(image, spare, 3);
  EXPECT_EQ(bytes_of(image), (Bytes{255, 255, 255, 150, 150, 150}));
  to_gray(image, spare, 1);
  EXPECT_EQ(bytes_of(image), (Bytes{255, 150}));
  EXPECT_EQ(image.channels(), 1);
}

}  // namespace
}  // namespace lockstep::data
