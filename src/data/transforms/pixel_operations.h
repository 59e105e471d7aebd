// Operations on the pixels of a whole picture, each with the arithmetic of Pillow, so that results are equal to the
// last bit. `spare` lends its memory, and may have become the picture: the two are exchanged freely.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include <lockstep/data/image.h>
#include <lockstep/data/operation.h>

namespace lockstep::data {

// levels.cpp: each value becomes another one, whatever stands beside it.
void adjust_brightness(Image& image, double factor);
void adjust_contrast(Image& image, double factor);
void posterize(Image& image, int bits);
void solarize(Image& image, double threshold);
void auto_contrast(Image& image);
void equalize(Image& image);
void invert(Image& image);

// color.cpp
void adjust_saturation(Image& image, double factor);
void turn_hue(Image& image, double turn);
void to_gray(Image& image, Image& spare, int channels);

// Pillow's blend of a degenerate value with the real one.
std::uint8_t blend(std::uint8_t degenerate, std::uint8_t real, float factor);
// Its gray of red, green and blue.
std::uint8_t gray_of(const std::uint8_t* pixel);

// sharpness.cpp
void adjust_sharpness(Image& image, Image& spare, double factor);

// affine.cpp. `matrix` leads from a place of the result to one of the picture: x' = m0 x + m1 y + m2, y' = m3 x + m4 y
// + m5.
using AffineMatrix = std::array<double, 6>;
void transform_affine(Image& image, Image& spare, const AffineMatrix& matrix, Interpolation interpolation, Fill fill);
AffineMatrix rotation(ImageSize size, double degrees);
AffineMatrix shearing(double x, double y);
AffineMatrix translation(ImageSize size, int x, int y);

// padding.cpp: a crop that goes beyond the picture, and `count` pixels of one color.
void fill_pixels(std::uint8_t* out, std::size_t count, int channels, const Fill& fill);
void crop_padded(Image& image, Image& spare, const Crop& crop);
// Which pixel stands at `position` of a row of `size` that the padding continues; -1 for none, where a color does.
int padded_source(int position, int size, PadMode mode);

}  // namespace lockstep::data
