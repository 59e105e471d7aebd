// What is done to a picture once the dice are cast: no operation has anything random left in it. Each computes what
// Pillow's function of that name computes on 8-bit pictures, which is what torchvision calls.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <variant>

#include <lockstep/data/decode.h>
#include <lockstep/data/random_stream.h>

namespace lockstep::data {

enum class Interpolation { kNearest, kBilinear };

// What stands beyond the border of a picture: a color, or the picture again. [1 2 3] becomes 1 1 [1 2 3] 3 3 (edge),
// 3 2 [1 2 3] 2 1 (reflect), 2 1 [1 2 3] 3 2 (symmetric).
enum class PadMode { kConstant, kEdge, kReflect, kSymmetric };

// Red, green and blue; a gray picture takes the first.
using Fill = std::array<std::uint8_t, 3>;

// Keeps a part. Where it goes beyond the picture, it is padded.
struct Crop {
  Region region;
  PadMode mode = PadMode::kConstant;
  Fill fill{};
};

// Makes a picture of that size, bilinear, and with antialiasing when it becomes smaller.
struct Scale {
  ImageSize size;
};

struct Flip {
  bool horizontal = false, vertical = false;
};

// Counter-clockwise around the center; the size stays.
struct Rotate {
  double degrees = 0;
  Interpolation interpolation = Interpolation::kNearest;
  Fill fill{};
};

// Moves each pixel by `x` times its distance from the top, and by `y` times its distance from the left.
struct Shear {
  double x = 0, y = 0;
  Interpolation interpolation = Interpolation::kNearest;
  Fill fill{};
};

struct Translate {
  int x = 0, y = 0;
  Interpolation interpolation = Interpolation::kNearest;
  Fill fill{};
};

// Between black, the mean gray, the gray picture or the smoothed picture (0) and the picture itself (1), and beyond.
struct Brightness {
  double factor = 1;
};
struct Contrast {
  double factor = 1;
};
struct Saturation {
  double factor = 1;
};
struct Sharpness {
  double factor = 1;
};

// Turns the hue by a part of the circle, from -0.5 to 0.5.
struct Hue {
  double turn = 0;
};

// Keeps the highest bits.
struct Posterize {
  int bits = 8;
};

// Inverts values from the threshold up.
struct Solarize {
  double threshold = 256;
};

struct AutoContrast {};
struct Equalize {};
struct Invert {};

// Of one channel, or of three that are equal.
struct Grayscale {
  int channels = 1;
};

// Overwrites a part of the normalized picture, with a color or with noise of the normal distribution.
struct Erase {
  Region region;
  std::array<float, 3> value{};
  std::optional<RandomStream> noise;
};

using Operation = std::variant<Crop, Scale, Flip, Rotate, Shear, Translate, Brightness, Contrast, Saturation, Sharpness,
                               Hue, Posterize, Solarize, AutoContrast, Equalize, Invert, Grayscale, Erase>;

}  // namespace lockstep::data
