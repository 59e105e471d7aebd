// Pixels in memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace lockstep::data {

// Rows of height x width x channels bytes without gaps, red first. Its memory is kept when it becomes another image and
// grows only, so a worker that uses one again and again takes no memory.
class Image {
 public:
  Image() = default;
  Image(int width, int height, int channels) { reset(width, height, channels); }

  // Becomes an image of this shape, whose pixels are not set yet.
  void reset(int width, int height, int channels) {
    const std::size_t needed =
        static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * static_cast<std::size_t>(channels);
    if (needed > capacity_) {
      pixels_ = std::make_unique_for_overwrite<std::uint8_t[]>(needed);
      capacity_ = needed;
    }
    width_ = width, height_ = height, channels_ = channels;
  }

  int width() const { return width_; }
  int height() const { return height_; }
  int channels() const { return channels_; }

  std::size_t row_bytes() const { return static_cast<std::size_t>(width_) * static_cast<std::size_t>(channels_); }
  std::size_t bytes() const { return row_bytes() * static_cast<std::size_t>(height_); }

  std::span<std::uint8_t> pixels() { return {pixels_.get(), bytes()}; }
  std::span<const std::uint8_t> pixels() const { return {pixels_.get(), bytes()}; }
  std::uint8_t* row(int y) { return pixels_.get() + static_cast<std::size_t>(y) * row_bytes(); }
  const std::uint8_t* row(int y) const { return pixels_.get() + static_cast<std::size_t>(y) * row_bytes(); }

 private:
  std::unique_ptr<std::uint8_t[]> pixels_;
  std::size_t capacity_ = 0;
  int width_ = 0, height_ = 0, channels_ = 0;
};

}  // namespace lockstep::data
