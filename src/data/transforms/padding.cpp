#include <algorithm>
#include <utility>

#include "pixel_operations.h"

namespace lockstep::data {

int padded_source(int position, int size, PadMode mode) {
  if (position >= 0 && position < size) return position;
  if (mode == PadMode::kConstant) return -1;
  if (mode == PadMode::kEdge || size == 1) return std::clamp(position, 0, size - 1);
  // The picture forth and back, again and again, with its ends once or twice.
  const int period = mode == PadMode::kReflect ? 2 * size - 2 : 2 * size;
  const int place = (position % period + period) % period;
  return place < size ? place : (mode == PadMode::kReflect ? period - place : period - 1 - place);
}

void fill_pixels(std::uint8_t* out, std::size_t count, int channels, const Fill& fill) {
  if (channels == 1) {
    std::fill_n(out, count, fill[0]);
    return;
  }
  for (std::size_t i = 0; i < count; ++i, out += 3) out[0] = fill[0], out[1] = fill[1], out[2] = fill[2];
}

void crop_padded(Image& image, Image& spare, const Crop& crop) {
  const auto channels = static_cast<std::size_t>(image.channels());
  spare.reset(crop.region.width, crop.region.height, image.channels());
  for (int y = 0; y < spare.height(); ++y) {
    const int from_y = padded_source(crop.region.top + y, image.height(), crop.mode);
    std::uint8_t* out = spare.row(y);
    for (int x = 0; x < spare.width(); ++x, out += channels) {
      const int from_x = padded_source(crop.region.left + x, image.width(), crop.mode);
      const bool there = from_x >= 0 && from_y >= 0;
      std::copy_n(there ? image.row(from_y) + static_cast<std::size_t>(from_x) * channels : crop.fill.data(), channels,
                  out);
    }
  }
  std::swap(image, spare);
}

}  // namespace lockstep::data
