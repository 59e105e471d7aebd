#include <algorithm>
#include <utility>

#include "pixel_operations.h"

namespace lockstep::data {

// The smoothed picture is the mean of 3 x 3 pixels, of which the middle one counts five times; the border stays.
void adjust_sharpness(Image& image, Image& spare, double factor) {
  const auto alpha = static_cast<float>(factor);
  const int width = image.width(), height = image.height(), channels = image.channels();
  spare.reset(width, height, channels);
  const auto source = std::as_const(image).pixels();
  std::copy(source.begin(), source.end(), spare.pixels().begin());
  for (int y = 1; y + 1 < height; ++y) {
    const std::uint8_t *above = image.row(y - 1), *row = image.row(y), *below = image.row(y + 1);
    std::uint8_t* out = spare.row(y);
    for (int i = channels; i < (width - 1) * channels; ++i) {
      const int before = i - channels, after = i + channels;
      const int sum = above[before] + above[i] + above[after] + row[before] + 5 * row[i] + row[after] + below[before] +
                      below[i] + below[after];
      // sum / 13 is never half way between two numbers, so this rounds as Pillow's floats do.
      out[i] = blend(static_cast<std::uint8_t>((2 * sum + 13) / 26), row[i], alpha);
    }
  }
  std::swap(image, spare);
}

}  // namespace lockstep::data
