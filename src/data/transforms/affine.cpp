#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "pixel_operations.h"

namespace lockstep::data {
namespace {

int floor_to_int(double value) {
  return static_cast<int>(std::floor(value));
}

// Places with 16 bits behind the point, which each step adds to: its rounding errors are part of the result.
class FixedPlaces {
 public:
  explicit FixedPlaces(const AffineMatrix& m)
      : step_x_(fixed(m[0])),
        step_y_(fixed(m[3])),
        row_x_(fixed(m[1])),
        row_y_(fixed(m[4])),
        x_(fixed(m[2] + m[0] * 0.5 + m[1] * 0.5)),
        y_(fixed(m[5] + m[3] * 0.5 + m[4] * 0.5)) {}

  // What the coordinates of a picture of that size become must fit.
  static bool fits(const AffineMatrix& m, int width, int height) {
    const auto small = [&](int x, int y) {
      return std::abs(x * m[0] + y * m[1] + m[2]) < 32768.0 && std::abs(x * m[3] + y * m[4] + m[5]) < 32768.0;
    };
    return small(0, 0) && small(width, height) && small(0, height) && small(width, 0);
  }

  template <typename Put>
  void walk(int width, int height, const Put& put) const {
    for (int y = 0; y < height; ++y) {
      std::int64_t at_x = x_ + y * row_x_, at_y = y_ + y * row_y_;
      for (int x = 0; x < width; ++x, at_x += step_x_, at_y += step_y_) {
        put(x, y, static_cast<int>(at_x >> 16), static_cast<int>(at_y >> 16));
      }
    }
  }

 private:
  static std::int64_t fixed(double value) { return static_cast<std::int64_t>(std::floor(value * 65536.0 + 0.5)); }

  std::int64_t step_x_, step_y_, row_x_, row_y_, x_, y_;
};

// Of 1 or 3 channels, as a constant: pixels are too small for a copy of any length.
template <int kChannels>
void transform_nearest(const Image& image, Image& out, const AffineMatrix& m) {
  const auto width = static_cast<unsigned>(image.width()), height = static_cast<unsigned>(image.height());
  const auto put = [&](int x, int y, int from_x, int from_y) {
    // A negative number is a large one.
    if (static_cast<unsigned>(from_x) >= width || static_cast<unsigned>(from_y) >= height) return;
    const std::uint8_t* pixel = image.row(from_y) + static_cast<std::ptrdiff_t>(from_x) * kChannels;
    std::uint8_t* target = out.row(y) + static_cast<std::ptrdiff_t>(x) * kChannels;
    for (int channel = 0; channel < kChannels; ++channel) target[channel] = pixel[channel];
  };
  if ((m[1] != 0 || m[3] != 0) && FixedPlaces::fits(m, out.width(), out.height())) {
    FixedPlaces(m).walk(out.width(), out.height(), put);
    return;
  }
  for (int y = 0; y < out.height(); ++y) {
    for (int x = 0; x < out.width(); ++x) {
      const double at_x = m[2] + m[0] * (x + 0.5) + m[1] * (y + 0.5), at_y = m[5] + m[3] * (x + 0.5) + m[4] * (y + 0.5);
      if (at_x >= 0 && at_y >= 0 && at_x < image.width() && at_y < image.height()) {
        put(x, y, static_cast<int>(at_x), static_cast<int>(at_y));
      }
    }
  }
}

template <int kChannels>
void transform_bilinear(const Image& image, Image& out, const AffineMatrix& m) {
  const int width = image.width(), height = image.height();
  for (int y = 0; y < out.height(); ++y) {
    std::uint8_t* target = out.row(y);
    for (int x = 0; x < out.width(); ++x, target += kChannels) {
      const double at_x = m[0] * (x + 0.5) + m[1] * (y + 0.5) + m[2], at_y = m[3] * (x + 0.5) + m[4] * (y + 0.5) + m[5];
      if (at_x < 0.0 || at_x >= width || at_y < 0.0 || at_y >= height) continue;
      const int column = floor_to_int(at_x - 0.5), row = floor_to_int(at_y - 0.5);
      const double right = at_x - 0.5 - column, down = at_y - 0.5 - row;
      const std::uint8_t* upper = image.row(std::max(row, 0));
      const std::uint8_t* lower = row + 1 < height ? image.row(row + 1) : upper;
      const int left_byte = std::max(column, 0) * kChannels, right_byte = std::min(column + 1, width - 1) * kChannels;
      for (int channel = 0; channel < kChannels; ++channel) {
        const auto across = [&](const std::uint8_t* line) {
          const int a = line[left_byte + channel], b = line[right_byte + channel];
          return a + (b - a) * right;
        };
        const double first = across(upper), second = across(lower);
        target[channel] = static_cast<std::uint8_t>(first + (second - first) * down);
      }
    }
  }
}

// As Python's round(value, 15).
double rounded(double value) {
  return std::nearbyint(value * 1e15) / 1e15;
}

}  // namespace

void transform_affine(Image& image, Image& spare, const AffineMatrix& matrix, Interpolation interpolation, Fill fill) {
  spare.reset(image.width(), image.height(), image.channels());
  const bool gray = image.channels() == 1;
  fill_pixels(spare.pixels().data(), spare.pixels().size() / (gray ? 1 : 3), image.channels(), fill);
  if (interpolation == Interpolation::kNearest) {
    gray ? transform_nearest<1>(image, spare, matrix) : transform_nearest<3>(image, spare, matrix);
  } else {
    gray ? transform_bilinear<1>(image, spare, matrix) : transform_bilinear<3>(image, spare, matrix);
  }
  std::swap(image, spare);
}

AffineMatrix rotation(ImageSize size, double degrees) {
  const double positive = degrees - 360.0 * std::floor(degrees / 360.0);
  const double angle = -positive * (std::numbers::pi / 180.0);
  const double cosine = rounded(std::cos(angle)), sine = rounded(std::sin(angle));
  const double center_x = size.width / 2.0, center_y = size.height / 2.0;
  return {cosine, sine,   cosine * -center_x + sine * -center_y + center_x,
          -sine,  cosine, -sine * -center_x + cosine * -center_y + center_y};
}

AffineMatrix shearing(double x, double y) {
  // By way of an angle in degrees, as torchvision does, which rounds on the way.
  const auto angle = [](double level) {
    const double degrees = std::atan(level) * (180.0 / std::numbers::pi);
    return degrees * (std::numbers::pi / 180.0);
  };
  const double angle_x = angle(x), angle_y = angle(y);
  const double a = std::cos(-angle_y) / std::cos(angle_y);
  const double b = -std::cos(-angle_y) * std::tan(angle_x) / std::cos(angle_y);
  const double c = std::sin(-angle_y) / std::cos(angle_y);
  const double d = -std::sin(-angle_y) * std::tan(angle_x) / std::cos(angle_y) + 1;
  return {d, -b, 0, -c, a, 0};
}

AffineMatrix translation(ImageSize size, int x, int y) {
  const double center_x = size.width * 0.5, center_y = size.height * 0.5;
  return {1, 0, -center_x - x + center_x, 0, 1, -center_y - y + center_y};
}

}  // namespace lockstep::data
