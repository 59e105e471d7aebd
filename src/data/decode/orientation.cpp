#include "orientation.h"

#include <array>
#include <cstring>
#include <utility>

namespace lockstep::data {
namespace {

// EXIF's values 1 to 8.
constexpr std::array<Orientation, 8> kOrientations{{
    {},
    {.mirrored = true},
    {.mirrored = true, .flipped = true},
    {.flipped = true},
    {.transposed = true},
    {.flipped = true, .transposed = true},
    {.mirrored = true, .flipped = true, .transposed = true},
    {.mirrored = true, .transposed = true},
}};

constexpr unsigned kOrientationTag = 0x0112;
constexpr unsigned kShort = 3;
constexpr std::size_t kEntryBytes = 12;

// A TIFF's numbers, in the order of bytes that it declares. What lies beyond its end reads as 0.
class Tiff {
 public:
  explicit Tiff(std::span<const std::byte> bytes) : bytes_(bytes), little_(at(0) == 'I') {}

  bool valid() const { return (at(0) == 'I' || at(0) == 'M') && at(1) == at(0) && short_at(2) == 42; }
  unsigned short_at(std::size_t place) const {
    const unsigned first = at(place), second = at(place + 1);
    return little_ ? second << 8 | first : first << 8 | second;
  }
  std::size_t long_at(std::size_t place) const {
    const std::size_t first = short_at(place), second = short_at(place + 2);
    return little_ ? second << 16 | first : first << 16 | second;
  }

 private:
  unsigned at(std::size_t place) const { return place < bytes_.size() ? std::to_integer<unsigned>(bytes_[place]) : 0; }

  std::span<const std::byte> bytes_;
  bool little_;
};

Region mirrored_and_flipped(Region region, ImageSize size, Orientation orientation) {
  if (orientation.mirrored) region.left = size.width - region.left - region.width;
  if (orientation.flipped) region.top = size.height - region.top - region.height;
  return region;
}

Region transposed(const Region& region, Orientation orientation) {
  if (!orientation.transposed) return region;
  return {.left = region.top, .top = region.left, .width = region.height, .height = region.width};
}

}  // namespace

Orientation exif_orientation(std::span<const std::byte> exif) {
  const Tiff tiff(exif);
  if (!tiff.valid()) return {};
  const std::size_t directory = tiff.long_at(4), count = tiff.short_at(directory);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t entry = directory + 2 + i * kEntryBytes;
    if (tiff.short_at(entry) != kOrientationTag || tiff.short_at(entry + 2) != kShort) continue;
    const unsigned value = tiff.short_at(entry + 8);
    return value >= 1 && value <= kOrientations.size() ? kOrientations[value - 1] : Orientation{};
  }
  return {};
}

ImageSize seen_size(ImageSize stored, Orientation orientation) {
  if (orientation.transposed) std::swap(stored.width, stored.height);
  return stored;
}

Region to_stored(Region seen, ImageSize stored, Orientation orientation) {
  return mirrored_and_flipped(transposed(seen, orientation), stored, orientation);
}

Region to_seen(Region stored, ImageSize size, Orientation orientation) {
  return transposed(mirrored_and_flipped(stored, size, orientation), orientation);
}

Canvas::Canvas(Image& image, int width, int height, int channels, Orientation orientation)
    : width_(width), height_(height), channels_(channels) {
  const ImageSize seen = seen_size({.width = width, .height = height}, orientation);
  image.reset(seen.width, seen.height, channels);
  pixel_step_ = channels;
  row_step_ = static_cast<std::ptrdiff_t>(image.row_bytes());
  if (orientation.transposed) std::swap(pixel_step_, row_step_);
  origin_ = image.row(0);
  if (orientation.mirrored) {
    origin_ += (width - 1) * pixel_step_;
    pixel_step_ = -pixel_step_;
  }
  if (orientation.flipped) {
    origin_ += (height - 1) * row_step_;
    row_step_ = -row_step_;
  }
}

void Canvas::put_row(int y, const std::uint8_t* pixels) noexcept {
  std::uint8_t* target = origin_ + y * row_step_;
  if (pixel_step_ == channels_) {
    std::memcpy(target, pixels, static_cast<std::size_t>(width_) * static_cast<std::size_t>(channels_));
    return;
  }
  for (int x = 0; x < width_; ++x, target += pixel_step_) {
    for (int channel = 0; channel < channels_; ++channel) target[channel] = *pixels++;
  }
}

}  // namespace lockstep::data
