#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "pixel_operations.h"

namespace lockstep::data {
namespace {

using Level = std::array<std::uint8_t, 256>;
using Histogram = std::array<std::int64_t, 256>;

template <typename Function>
Level level_of(const Function& function) {
  Level level{};
  for (int value = 0; value < 256; ++value) level[static_cast<std::size_t>(value)] = function(value);
  return level;
}

void apply_level(Image& image, const Level& level) {
  for (std::uint8_t& value : image.pixels()) value = level[value];
}

// Gives each channel the level that `make` makes from its histogram.
template <typename Make>
void apply_levels(Image& image, const Make& make) {
  const auto channels = static_cast<std::size_t>(image.channels());
  std::array<Histogram, 3> histograms{};
  const auto pixels = image.pixels();
  for (std::size_t i = 0; i < pixels.size(); i += channels) {
    for (std::size_t channel = 0; channel < channels; ++channel) ++histograms[channel][pixels[i + channel]];
  }
  std::array<Level, 3> levels{};
  for (std::size_t channel = 0; channel < channels; ++channel) levels[channel] = make(histograms[channel]);
  for (std::size_t i = 0; i < pixels.size(); i += channels) {
    for (std::size_t channel = 0; channel < channels; ++channel) {
      pixels[i + channel] = levels[channel][pixels[i + channel]];
    }
  }
}

const auto kSame = [](int value) { return static_cast<std::uint8_t>(value); };

Level stretched(const Histogram& histogram) {
  const auto used = [](std::int64_t count) { return count != 0; };
  const auto low = std::find_if(histogram.begin(), histogram.end(), used) - histogram.begin();
  const auto high = histogram.rend() - std::find_if(histogram.rbegin(), histogram.rend(), used) - 1;
  if (high <= low) return level_of(kSame);
  const double scale = 255.0 / static_cast<double>(high - low), offset = static_cast<double>(-low) * scale;
  return level_of([&](int value) {
    return static_cast<std::uint8_t>(std::clamp(static_cast<int>(value * scale + offset), 0, 255));
  });
}

Level equalized(const Histogram& histogram) {
  const auto last = std::find_if(histogram.rbegin(), histogram.rend(), [](std::int64_t count) { return count != 0; });
  if (last == histogram.rend()) return level_of(kSame);
  const std::int64_t total = std::accumulate(histogram.begin(), histogram.end(), std::int64_t{0});
  const std::int64_t step = (total - *last) / 255;
  if (step == 0) return level_of(kSame);
  std::int64_t below = step / 2;
  return level_of([&](int value) {
    // Above the last value that is there it may pass 255; no pixel has such a value.
    const auto level = static_cast<std::uint8_t>(std::min<std::int64_t>(below / step, 255));
    below += histogram[static_cast<std::size_t>(value)];
    return level;
  });
}

}  // namespace

void adjust_brightness(Image& image, double factor) {
  const auto alpha = static_cast<float>(factor);
  apply_level(image, level_of([&](int value) { return blend(0, static_cast<std::uint8_t>(value), alpha); }));
}

void adjust_contrast(Image& image, double factor) {
  std::int64_t sum = 0;
  const auto pixels = image.pixels();
  if (pixels.empty()) return;
  const auto channels = static_cast<std::size_t>(image.channels());
  if (channels == 1) {
    sum = std::accumulate(pixels.begin(), pixels.end(), std::int64_t{0});
  } else {
    for (std::size_t i = 0; i < pixels.size(); i += channels) sum += gray_of(&pixels[i]);
  }
  const std::size_t count = pixels.size() / channels;
  const double mean = static_cast<double>(sum) / static_cast<double>(count);
  const auto gray = static_cast<std::uint8_t>(std::floor(mean + 0.5));
  const auto alpha = static_cast<float>(factor);
  apply_level(image, level_of([&](int value) { return blend(gray, static_cast<std::uint8_t>(value), alpha); }));
}

void posterize(Image& image, int bits) {
  const int mask = 0xFF << (8 - bits) & 0xFF;
  apply_level(image, level_of([&](int value) { return static_cast<std::uint8_t>(value & mask); }));
}

void solarize(Image& image, double threshold) {
  apply_level(image,
              level_of([&](int value) { return static_cast<std::uint8_t>(value < threshold ? value : 255 - value); }));
}

void auto_contrast(Image& image) {
  apply_levels(image, stretched);
}

void equalize(Image& image) {
  apply_levels(image, equalized);
}

void invert(Image& image) {
  apply_level(image, level_of([](int value) { return static_cast<std::uint8_t>(255 - value); }));
}

}  // namespace lockstep::data
