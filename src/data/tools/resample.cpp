#include "resample.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace lockstep::data {
namespace {

// Of Pillow: 8 bits of the result and 2 for values beyond it leave these for the weights.
constexpr int kWeightBits = 32 - 8 - 2;

// Which pixels of a line make a pixel of the result, and how much of each.
struct Window {
  int first = 0;
  std::vector<std::int32_t> weights;
};

std::vector<Window> windows_of(int from, int to) {
  const double scale = static_cast<double>(from) / to;
  const double support = std::max(scale, 1.0);
  std::vector<Window> windows(static_cast<std::size_t>(to));
  std::vector<double> weights;
  for (int i = 0; i < to; ++i) {
    const double center = (i + 0.5) * scale;
    const int first = std::max(static_cast<int>(center - support + 0.5), 0);
    const int end = std::min(static_cast<int>(center + support + 0.5), from);
    weights.clear();
    double sum = 0;
    for (int x = first; x < end; ++x) {
      const double distance = std::abs((x - center + 0.5) / support);
      weights.push_back(std::max(1.0 - distance, 0.0));
      sum += weights.back();
    }
    Window& window = windows[static_cast<std::size_t>(i)];
    window.first = first;
    for (const double weight : weights) {
      window.weights.push_back(static_cast<std::int32_t>(std::floor(weight / sum * (1 << kWeightBits) + 0.5)));
    }
  }
  return windows;
}

// `step` is the distance of two pixels that are added up.
std::uint8_t weighted(const std::uint8_t* first, std::size_t step, const Window& window) {
  std::int32_t sum = 1 << (kWeightBits - 1);
  for (const std::int32_t weight : window.weights) {
    sum += weight * *first;
    first += step;
  }
  return static_cast<std::uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

void resample_rows(const Image& source, int width, Image& target) {
  const int channels = source.channels();
  target.reset(width, source.height(), channels);
  const std::vector<Window> windows = windows_of(source.width(), width);
  for (int y = 0; y < source.height(); ++y) {
    std::uint8_t* out = target.row(y);
    for (const Window& window : windows) {
      const std::uint8_t* first = source.row(y) + static_cast<std::ptrdiff_t>(window.first) * channels;
      for (int c = 0; c < channels; ++c) *out++ = weighted(first + c, static_cast<std::size_t>(channels), window);
    }
  }
}

void resample_columns(const Image& source, int height, Image& target) {
  target.reset(source.width(), height, source.channels());
  const std::vector<Window> windows = windows_of(source.height(), height);
  for (int y = 0; y < height; ++y) {
    const Window& window = windows[static_cast<std::size_t>(y)];
    std::uint8_t* out = target.row(y);
    for (std::size_t x = 0; x < source.row_bytes(); ++x) {
      out[x] = weighted(source.row(window.first) + x, source.row_bytes(), window);
    }
  }
}

}  // namespace

void resample(const Image& source, ImageSize size, Image& target) {
  thread_local Image between;
  resample_rows(source, size.width, between);
  resample_columns(between, size.height, target);
}

}  // namespace lockstep::data
