// The transforms of Winograd's convolutions: sums of few products of tiles, in place of many.
//
// A tile of 6 x 6 pixels is evaluated, as a polynomial in each direction, at the points 0, 1, -1, 2, -2 and infinity;
// so are the weights. There a convolution is a product at each of the 36 points, and what comes out is interpolated: 4
// x 4 results under 3 x 3 weights take 36 products in place of 144, and 2 x 2 under 5 x 5 take 36 in place of 100.
// Gradients are the same transforms, transposed.
#pragma once
#include <cstdint>

namespace lockstep::kernels {

constexpr std::int64_t kWinogradSide = 6, kWinogradPoints = 36;

// One level's, for one size of weights. All go over channels, whose number is a multiple of 16; values of a point are
// `point_stride` apart from those of the next.
struct WinogradTransforms {
  // Tile of the input, pixel by pixel, to points.
  void (*input)(const float* const* pixels, std::int64_t channels, float* points, std::int64_t point_stride);
  // Points to a tile of the result; pixels that are nullptr are left out.
  void (*output)(const float* points, std::int64_t point_stride, std::int64_t channels, float* const* pixels,
                 const float* bias, bool relu);
  // Tile of the result's gradient to points.
  void (*output_gradient)(const float* const* pixels, std::int64_t channels, float* points, std::int64_t point_stride);
  // Weights to points, and points to the weights' gradient.
  void (*weight)(const float* const* taps, std::int64_t channels, float* points, std::int64_t point_stride);
  void (*weight_gradient)(const float* points, std::int64_t point_stride, std::int64_t channels, float* const* taps);
};

struct Winograd {
  WinogradTransforms three, five;  // by the side of the weights
};

extern const Winograd kWinogradAvx2, kWinogradAvx512;

// For this CPU; nullptr where it has not even AVX2.
const Winograd* winograd();

}  // namespace lockstep::kernels
