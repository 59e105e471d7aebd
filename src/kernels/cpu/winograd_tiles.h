#pragma once
#include <array>

#include "conv_shape.h"
#include "winograd.h"

namespace lockstep::kernels {

// How the result of a convolution falls into tiles.
class WinogradTiles {
 public:
  explicit WinogradTiles(const ConvShape& shape)
      : shape_(shape),
        side_(kWinogradSide + 1 - shape.side),
        down_((shape.out_height() + side_ - 1) / side_),
        across_((shape.out_width() + side_ - 1) / side_) {}

  std::int64_t count() const { return shape_.batch * down_ * across_; }

  // The pixels of one tile: of the input, and of the output; `none` where the picture has none.
  std::array<const float*, kWinogradPoints> input(std::int64_t tile, const float* input, const float* none) const;
  template <typename Float>
  std::array<Float*, 16> output(std::int64_t tile, Float* output, Float* none) const;

 private:
  struct Place {
    std::int64_t picture, top, left;  // in pixels of the output
  };
  Place place(std::int64_t tile) const {
    return {tile / (down_ * across_), tile / across_ % down_ * side_, tile % across_ * side_};
  }

  ConvShape shape_;
  std::int64_t side_;           // of a tile of the output
  std::int64_t down_, across_;  // tiles of a picture
};

inline std::array<const float*, kWinogradPoints> WinogradTiles::input(std::int64_t tile, const float* input,
                                                                      const float* none) const {
  const Place at = place(tile);
  const std::int64_t top = at.top - shape_.pad_height, left = at.left - shape_.pad_width;
  const float* picture = input + at.picture * shape_.height * shape_.width * shape_.inputs;
  std::array<const float*, kWinogradPoints> pixels;
  auto pixel = pixels.begin();
  for (std::int64_t y = top; y < top + kWinogradSide; ++y) {
    for (std::int64_t x = left; x < left + kWinogradSide; ++x) {
      const bool inside = y >= 0 && y < shape_.height && x >= 0 && x < shape_.width;
      *pixel++ = inside ? picture + (y * shape_.width + x) * shape_.inputs : none;
    }
  }
  return pixels;
}

template <typename Float>
std::array<Float*, 16> WinogradTiles::output(std::int64_t tile, Float* output, Float* none) const {
  const Place at = place(tile);
  const std::int64_t height = shape_.out_height(), width = shape_.out_width();
  Float* picture = output + at.picture * height * width * shape_.outputs;
  std::array<Float*, 16> pixels{};
  auto pixel = pixels.begin();
  for (std::int64_t y = at.top; y < at.top + side_; ++y) {
    for (std::int64_t x = at.left; x < at.left + side_; ++x) {
      *pixel++ = y < height && x < width ? picture + (y * width + x) * shape_.outputs : none;
    }
  }
  return pixels;
}

}  // namespace lockstep::kernels
