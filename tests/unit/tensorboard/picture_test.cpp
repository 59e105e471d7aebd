// PNG and SVG files, and boxes drawn on pictures.
#include <cstdlib>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/data/decode.h>

#include "scoped_variable.h"
#include "temporary_folder.h"
#include "tensorboard/draw_boxes.h"
#include "tensorboard/figure_file.h"
#include "tensorboard/png_encoder.h"
#include "throws_with.h"

namespace lockstep::tensorboard {
namespace {

using test::TemporaryFolder;
using test::ThrowsWith;

constexpr const char* kSvg =
    R"(<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"><rect width="10" height="10" fill="#ff0000"/></svg>)";

data::Image black(int width, int height) {
  data::Image image(width, height, 3);
  std::ranges::fill(image.pixels(), std::uint8_t{0});
  return image;
}

data::Image decoded(const std::string& png) {
  data::Image image;
  data::decode(std::as_bytes(std::span(png)), 3, image);
  return image;
}

TEST(Png, HoldsThePixels) {
  data::Image image = black(7, 5);
  for (std::size_t i = 0; i < image.bytes(); ++i) image.pixels()[i] = static_cast<std::uint8_t>(i * 31);
  EXPECT_THAT(decoded(encode_png(image)).pixels(), ::testing::ElementsAreArray(image.pixels()));
}

TEST(FigureFile, IsAPngAsItIs) {
  const TemporaryFolder folder;
  const std::string png = encode_png(black(6, 4));
  const FigureFile figure = read_figure(folder.write("a.png", png));
  EXPECT_EQ(figure.png, png);
  EXPECT_EQ(figure.width, 6);
  EXPECT_EQ(figure.height, 4);
}

TEST(FigureFile, OfAnSvg_IsDrawnOnWhite) {
  const TemporaryFolder folder;
  const FigureFile figure = read_figure(folder.write("a.svg", kSvg));
  const data::Image image = decoded(figure.png);
  ASSERT_EQ(image.width(), 20);
  ASSERT_EQ(image.height(), 10);
  EXPECT_THAT(std::vector<int>(image.row(5), image.row(5) + 3), ::testing::ElementsAre(255, 0, 0));
  EXPECT_THAT(std::vector<int>(image.row(5) + 45, image.row(5) + 48), ::testing::ElementsAre(255, 255, 255));
}

TEST(FigureFile, WithoutRsvgConvert_NamesThePackage) {
  const TemporaryFolder folder;
  const auto file = folder.write("a.svg", kSvg);
  const test::ScopedVariable path("PATH", folder.path().c_str());
  EXPECT_THAT([&] { read_figure(file); }, ThrowsWith<UsageError>("librsvg2-bin"));
}

TEST(FigureFile, ThatIsNone_IsRefused) {
  const TemporaryFolder folder;
  const std::string png = encode_png(black(6, 4));
  EXPECT_THAT([&] { read_figure(folder.path() / "none.png"); }, ThrowsWith<UsageError>("cannot read"));
  EXPECT_THAT([&] { read_figure(folder.write("text.png", "hello")); }, ThrowsWith<UsageError>("cannot be a figure"));
  EXPECT_THAT([&] { read_figure(folder.write("cut.png", png.substr(0, png.size() / 2))); },
              ThrowsWith<UsageError>("cannot be a figure"));
  EXPECT_THAT([&] { read_figure(folder.write("a.svg", "<svg this is none")); },
              ThrowsWith<UsageError>("rsvg-convert cannot draw it"));
}

// As Pillow draws it: two lines for each side, of which the outer lie outside of the box on top and bottom.
TEST(Boxes, AreFramesOfTwoPixels) {
  data::Image image = black(12, 12);
  draw_boxes(image, std::vector<BoxEdges>{{2, 3.9F, 9.5F, 8}}, {});
  const std::vector<std::string> expected = {"............", "............", "..########..", "..########..",
                                             "..##....##..", "..##....##..", "..##....##..", "..##....##..",
                                             "..########..", "..########..", "............", "............"};
  for (int y = 0; y < 12; ++y) {
    std::string row;
    for (int x = 0; x < 12; ++x) row += image.row(y)[3 * x] == 255 ? '#' : '.';
    EXPECT_EQ(row, expected[static_cast<std::size_t>(y)]) << y;
  }
}

TEST(Boxes, BeyondTheImage_DoNoHarm) {
  data::Image image = black(4, 4);
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  draw_boxes(image, std::vector<BoxEdges>{{-5, -5, 50, 50}, {-inf, nan, inf, 1e30F}, {3, 3, 1, 1}},
             std::vector<std::string>{"a", "", "\xff"});
}

TEST(Boxes, HaveTheirLabelAboveTheLowerEdge) {
  data::Image with = black(60, 40), without = black(60, 40);
  const std::vector<BoxEdges> boxes = {{5, 5, 50, 30}};
  draw_boxes(with, boxes, std::vector<std::string>{"cat"});
  draw_boxes(without, boxes, {});
  const auto red = [](const data::Image& image, int x, int y) { return image.row(y)[3 * x] == 255; };
  EXPECT_FALSE(red(without, 22, 20));
  EXPECT_TRUE(red(with, 22, 20));   // behind the letters
  EXPECT_FALSE(red(with, 30, 20));  // three letters are 18 pixels wide
  int black_pixels = 0;
  for (int y = 19; y < 29; ++y) {
    for (int x = 7; x < 24; ++x) black_pixels += red(with, x, y) ? 0 : 1;
  }
  EXPECT_GT(black_pixels, 20);
}

}  // namespace
}  // namespace lockstep::tensorboard
