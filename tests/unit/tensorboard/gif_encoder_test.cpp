#include "tensorboard/gif_encoder.h"

#include <algorithm>
#include <cstdlib>
#include <random>

#include <gmock/gmock.h>

#include "gif_reader.h"

namespace lockstep::tensorboard {
namespace {

template <typename MakePixel>
data::Image image_of(int width, int height, MakePixel make_pixel) {
  data::Image image(width, height, 3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const std::array<int, 3> pixel = make_pixel(x, y);
      for (int c = 0; c < 3; ++c)
        image.row(y)[3 * x + c] = static_cast<std::uint8_t>(pixel[static_cast<std::size_t>(c)]);
    }
  }
  return image;
}

template <typename MakePixel>
std::vector<data::Image> one_frame(int width, int height, MakePixel make_pixel) {
  std::vector<data::Image> frames;
  frames.push_back(image_of(width, height, make_pixel));
  return frames;
}

std::string text_of(const data::Image& image) {
  return {image.pixels().begin(), image.pixels().end()};
}

TEST(Gif, OfAtMost256Colors_IsExact) {
  std::mt19937 random(1);
  // Noise, of which little repeats, fills the table of codes many times.
  for (const int colors : {1, 2, 3, 4, 5, 16, 17, 255, 256}) {
    std::vector<data::Image> frames;
    for (int frame = 0; frame < 3; ++frame) {
      frames.push_back(image_of(97, 61, [&](int, int) {
        const int color = static_cast<int>(random() % static_cast<unsigned>(colors));
        return std::array{color, 255 - color, color * 7 % 256};
      }));
    }

    const test::Gif gif = test::GifReader(encode_gif(frames, 10)).read();
    EXPECT_EQ(gif.width, 97);
    EXPECT_EQ(gif.height, 61);
    EXPECT_EQ(gif.delay, 10);
    ASSERT_EQ(gif.frames.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(gif.frames[i], text_of(frames[i])) << colors;
  }
}

TEST(Gif, OfEverySizeUpToASquare_IsExact) {
  for (int size = 1; size < 40; ++size) {
    const std::vector<data::Image> frames = one_frame(size, 1, [](int x, int) { return std::array{x % 5, 0, 0}; });
    EXPECT_EQ(test::GifReader(encode_gif(frames, 4)).read().frames.at(0), text_of(frames[0])) << size;
  }
}

TEST(Gif, OfMoreColors_IsNear) {
  const std::vector<data::Image> frames = one_frame(256, 256, [](int x, int y) {
    return std::array{x, y, (x + y) / 2};
  });
  const test::Gif gif = test::GifReader(encode_gif(frames, 4)).read();
  const std::string given = text_of(frames[0]);
  int farthest = 0;
  double sum = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const int error = std::abs(static_cast<std::uint8_t>(given[i]) - static_cast<std::uint8_t>(gif.frames[0][i]));
    farthest = std::max(farthest, error);
    sum += error;
  }
  EXPECT_LE(farthest, 16);  // half of a box: 256 of them on a plane of 256 x 256 colors are 16 wide
  EXPECT_LT(sum / static_cast<double>(given.size()), 5);
}

TEST(Gif, ShowsAFrameForTwoHundredthsAtLeast) {
  const std::vector<data::Image> frames = one_frame(2, 2, [](int, int) { return std::array{1, 2, 3}; });
  EXPECT_EQ(test::GifReader(encode_gif(frames, 1000)).read().delay, 2);
  EXPECT_EQ(test::GifReader(encode_gif(frames, 0.001)).read().delay, 65535);
}

}  // namespace
}  // namespace lockstep::tensorboard
