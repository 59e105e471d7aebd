#include <algorithm>
#include <cmath>
#include <utility>

#include "pixel_operations.h"

namespace lockstep::data {
namespace {

struct Hsv {
  std::uint8_t hue, saturation, value;
};

// Floats where Pillow has floats, and doubles where it has doubles.
Hsv to_hsv(const std::uint8_t* pixel) {
  const std::uint8_t red = pixel[0], green = pixel[1], blue = pixel[2];
  const std::uint8_t most = std::max({red, green, blue}), least = std::min({red, green, blue});
  if (most == least) return {0, 0, most};
  const auto range = static_cast<float>(most - least);
  const float saturation = range / static_cast<float>(most);
  const float from_red = static_cast<float>(most - red) / range;
  const float from_green = static_cast<float>(most - green) / range;
  const float from_blue = static_cast<float>(most - blue) / range;
  float hue = 0;
  if (red == most) {
    hue = from_blue - from_green;
  } else if (green == most) {
    hue = static_cast<float>(2.0 + from_red - from_blue);
  } else {
    hue = static_cast<float>(4.0 + from_green - from_red);
  }
  // Its remainder of a division by 1: it lies between 5/6 and 2.
  const double turned = hue / 6.0 + 1.0;
  hue = static_cast<float>(turned >= 1.0 ? turned - 1.0 : turned);
  const auto to_byte = [](double number) { return static_cast<std::uint8_t>(std::min(static_cast<int>(number), 255)); };
  return {to_byte(hue * 255.0), to_byte(saturation * 255.0), most};
}

void from_hsv(Hsv color, std::uint8_t* pixel) {
  const std::uint8_t v = color.value;
  if (color.saturation == 0) {
    pixel[0] = pixel[1] = pixel[2] = v;
    return;
  }
  const double sector = static_cast<float>(color.hue) * 6.0 / 255.0;
  const int index = static_cast<int>(sector);
  const auto rest = static_cast<float>(sector - static_cast<float>(index));
  const auto saturation = static_cast<float>(static_cast<float>(color.saturation) / 255.0);
  const auto part = [v](double share) {
    return static_cast<std::uint8_t>(std::floor(static_cast<float>(v) * share + 0.5));
  };
  const std::uint8_t p = part(1.0 - saturation);
  const std::uint8_t q = part(1.0 - saturation * rest);
  const std::uint8_t t = part(1.0 - saturation * (1.0 - rest));
  const std::array<std::array<std::uint8_t, 3>, 6> sectors = {
      {{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v}, {t, p, v}, {v, p, q}}};
  std::copy_n(sectors[static_cast<std::size_t>(index % 6)].begin(), 3, pixel);
}

}  // namespace

std::uint8_t blend(std::uint8_t degenerate, std::uint8_t real, float factor) {
  const float value = static_cast<float>(degenerate) + factor * static_cast<float>(real - degenerate);
  return static_cast<std::uint8_t>(std::clamp(value, 0.0F, 255.0F));
}

std::uint8_t gray_of(const std::uint8_t* pixel) {
  return static_cast<std::uint8_t>((pixel[0] * 19595 + pixel[1] * 38470 + pixel[2] * 7471 + 0x8000) >> 16);
}

void adjust_saturation(Image& image, double factor) {
  if (image.channels() == 1) return;
  const auto alpha = static_cast<float>(factor);
  const auto pixels = image.pixels();
  for (std::size_t i = 0; i < pixels.size(); i += 3) {
    const std::uint8_t gray = gray_of(&pixels[i]);
    for (std::size_t channel = 0; channel < 3; ++channel) pixels[i + channel] = blend(gray, pixels[i + channel], alpha);
  }
}

void turn_hue(Image& image, double turn) {
  if (image.channels() == 1) return;
  // A byte that wraps around is a circle.
  const auto step = static_cast<std::uint8_t>(static_cast<int>(turn * 255));
  const auto pixels = image.pixels();
  for (std::size_t i = 0; i < pixels.size(); i += 3) {
    Hsv color = to_hsv(&pixels[i]);
    color.hue = static_cast<std::uint8_t>(color.hue + step);
    from_hsv(color, &pixels[i]);
  }
}

void to_gray(Image& image, Image& spare, int channels) {
  if (image.channels() == 1 && channels == 1) return;
  const auto from = static_cast<std::size_t>(image.channels()), to = static_cast<std::size_t>(channels);
  spare.reset(image.width(), image.height(), channels);
  const auto source = std::as_const(image).pixels();
  const auto target = spare.pixels();
  const std::size_t count = source.size() / from;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t gray = from == 1 ? source[i] : gray_of(&source[i * 3]);
    std::fill_n(&target[i * to], to, gray);
  }
  std::swap(image, spare);
}

}  // namespace lockstep::data
