#pragma once
#include <array>

#include "conv_shape.h"
#include "winograd.h"

namespace lockstep::kernels::cpu {

// How the result of a convolution falls into tiles.
class WinogradTiles {
 public:
  explicit WinogradTiles(const ConvShape& shape);

  std::int64_t count() const { return shape_.batch * down_ * across_; }

  // The pixels of one tile: of the input, `none` where it has none; and of the output, likewise.
  using InputPixels = std::array<const float*, kWinogradPoints>;
  InputPixels input(std::int64_t tile, const float* input, const float* none) const;
  template <typename Float>
  std::array<Float*, 16> output(std::int64_t tile, Float* output, Float* none) const;

  const WinogradTransforms& transforms() const { return transforms_; }
  const ConvShape& shape() const { return shape_; }

 private:
  ConvShape shape_;
  const WinogradTransforms& transforms_;
  std::int64_t side_;  // of a tile of the output
  Extents out_;
  std::int64_t down_, across_;  // tiles of a picture
};

inline WinogradTiles::WinogradTiles(const ConvShape& shape)
    : shape_(shape),
      transforms_(shape.kernel[1] == 3 ? winograd()->three : winograd()->five),
      side_(kWinogradSide + 1 - shape.kernel[1]),
      out_(shape.out()),
      down_((out_[1] + side_ - 1) / side_),
      across_((out_[2] + side_ - 1) / side_) {}

inline WinogradTiles::InputPixels WinogradTiles::input(std::int64_t tile, const float* input, const float* none) const {
  InputPixels pixels;
  const float* picture = input + tile / (down_ * across_) * shape_.in[1] * shape_.in[2] * shape_.inputs;
  const std::int64_t top = tile / across_ % down_ * side_ - shape_.padding[1];
  const std::int64_t left = tile % across_ * side_ - shape_.padding[2];
  auto pixel = pixels.begin();
  for (std::int64_t y = top; y < top + kWinogradSide; ++y) {
    for (std::int64_t x = left; x < left + kWinogradSide; ++x) {
      const bool inside = y >= 0 && y < shape_.in[1] && x >= 0 && x < shape_.in[2];
      *pixel++ = inside ? picture + (y * shape_.in[2] + x) * shape_.inputs : none;
    }
  }
  return pixels;
}

template <typename Float>
std::array<Float*, 16> WinogradTiles::output(std::int64_t tile, Float* output, Float* none) const {
  std::array<Float*, 16> pixels;
  Float* picture = output + tile / (down_ * across_) * out_[1] * out_[2] * shape_.outputs;
  const std::int64_t top = tile / across_ % down_ * side_, left = tile % across_ * side_;
  auto pixel = pixels.begin();
  for (std::int64_t y = top; y < top + side_; ++y) {
    for (std::int64_t x = left; x < left + side_; ++x) {
      *pixel++ = y < out_[1] && x < out_[2] ? picture + (y * out_[2] + x) * shape_.outputs : none;
    }
  }
  return pixels;
}

}  // namespace lockstep::kernels::cpu
