// Images and videos of a SummaryWriter, read back.
#include <lockstep/tensorboard/summary_writer.h>

#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/data/decode.h>

#include "gif_reader.h"
#include "run_reader.h"
#include "temporary_folder.h"

namespace lockstep::tensorboard {
namespace {

// Height x width x 3.
at::Tensor pixels_of(const test::ReadValue& value) {
  data::Image image;
  data::decode(std::as_bytes(std::span(value.bytes)), 3, image);
  EXPECT_EQ(image.width(), value.width);
  EXPECT_EQ(image.height(), value.height);
  return torch::from_blob(image.pixels().data(), {image.height(), image.width(), 3}, at::kByte).clone();
}

at::Tensor gray(const at::Tensor& rows) {
  return rows.unsqueeze(2).expand({-1, -1, 3});
}

class Images : public ::testing::Test {
 protected:
  test::ReadValue only() {
    writer_.close();
    auto values = test::read_run(folder_.path()).values;
    EXPECT_EQ(values.size(), 1U);
    return values.at(0);
  }

  test::TemporaryFolder folder_;
  SummaryWriter writer_{folder_.path()};
};

TEST_F(Images, OfBytes_KeepThem) {
  const auto image = torch::arange(2 * 5 * 3).reshape({2, 5, 3}).to(at::kByte);
  writer_.add_image("a b", image.permute({2, 0, 1}), 3);
  const auto value = only();
  EXPECT_EQ(value.tag, "a_b");
  EXPECT_EQ(value.step, 3);
  EXPECT_EQ(value.channels, 3);
  EXPECT_TRUE(pixels_of(value).equal(image));
}

TEST_F(Images, OfNumbers_GoFrom0To1_AndAreClipped) {
  const auto image = torch::tensor({{0.0, 0.5, 1.0}, {-3.0, 7.0, std::numeric_limits<double>::quiet_NaN()}});
  writer_.add_image("x", image, {}, "HW");
  EXPECT_TRUE(pixels_of(only()).equal(gray(torch::tensor({{0, 127, 255}, {0, 255, 0}}, at::kByte))));
}

TEST_F(Images, OfAnyOrderOfDimensions_AreTheSame) {
  const auto image = torch::arange(4 * 6 * 3).reshape({4, 6, 3}).to(at::kByte);
  writer_.add_image("x", image.permute({1, 2, 0}), {}, "wch");
  EXPECT_TRUE(pixels_of(only()).equal(image));
}

TEST_F(Images, OfFourChannels_KeepTheirAlpha) {
  writer_.add_image("x", torch::full({4, 2, 2}, 128, at::kByte));
  EXPECT_EQ(only().channels, 4);
}

TEST_F(Images, OfABatch_AreInRowsOfEight) {
  const auto images = torch::arange(1, 11).reshape({10, 1, 1, 1}).expand({10, 1, 2, 3}).to(at::kByte);
  writer_.add_images("x", images);
  const auto grid = pixels_of(only());
  EXPECT_TRUE(grid.sizes().equals({4, 24, 3}));
  EXPECT_EQ(grid[0][0][0].item<int>(), 1);
  EXPECT_EQ(grid[1][23][0].item<int>(), 8);
  EXPECT_EQ(grid[2][3][0].item<int>(), 10);
  EXPECT_EQ(grid[2][6][0].item<int>(), 0);
}

TEST_F(Images, WithBoxes_HaveRedFrames) {
  writer_.add_image_with_boxes("x", torch::zeros({3, 20, 20}), torch::tensor({{4, 5, 15, 14}}), 1);
  const auto image = pixels_of(only());
  EXPECT_EQ(image[5][10][0].item<int>(), 255);
  EXPECT_EQ(image[5][10][1].item<int>(), 0);
  EXPECT_EQ(image[8][10][0].item<int>(), 0);
}

TEST_F(Images, OfAFigure_AreItsPixels) {
  writer_.add_figure("x", torch::ones({3, 2, 2}));
  EXPECT_TRUE(pixels_of(only()).eq(255).all().item<bool>());
}

TEST_F(Images, OfAVideo_AreTheFramesOfAGif) {
  const auto video = torch::arange(2 * 3).reshape({2, 3, 1, 1, 1}).mul(40).expand({2, 3, 1, 4, 5}).to(at::kByte);
  writer_.add_video("x", video, 1, {.fps = 20});
  const auto value = only();
  EXPECT_EQ(value.width, 10);  // the two beside each other
  EXPECT_EQ(value.height, 4);
  const test::Gif gif = test::GifReader(value.bytes).read();
  EXPECT_EQ(gif.delay, 5);
  ASSERT_EQ(gif.frames.size(), 3U);
  EXPECT_EQ(static_cast<std::uint8_t>(gif.frames[1].front()), 40);
  EXPECT_EQ(static_cast<std::uint8_t>(gif.frames[1].back()), 160);
}

TEST_F(Images, OfThreeVideos_HaveRoomForAFourth) {
  writer_.add_video("x", torch::ones({3, 1, 3, 2, 2}));
  EXPECT_EQ(only().width, 8);
}

}  // namespace
}  // namespace lockstep::tensorboard
