// How a picture is stored, and how a person is to see it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include <lockstep/data/decode.h>

namespace lockstep::data {

// What makes the picture that is seen of the one that is stored.
struct Orientation {
  bool mirrored = false;    // left and right change places,
  bool flipped = false;     // top and bottom change places,
  bool transposed = false;  // and then rows become columns

  bool operator==(const Orientation&) const = default;
};

// From EXIF data, which begins with a TIFF header. Data without an orientation, or with damage, say nothing: the
// picture is seen as it is stored.
Orientation exif_orientation(std::span<const std::byte> exif);

ImageSize seen_size(ImageSize stored, Orientation orientation);

// A region of the picture that is seen, in the one that is stored, and back. The size is that of the stored picture.
Region to_stored(Region seen, ImageSize stored, Orientation orientation);
Region to_seen(Region stored, ImageSize size, Orientation orientation);

// Takes rows of a stored picture and puts their pixels where they are seen.
class Canvas {
 public:
  // `image` becomes as large as stored rows of `width` pixels, `height` of them, need.
  Canvas(Image& image, int width, int height, int channels, Orientation orientation);

  int width() const { return width_; }
  int height() const { return height_; }
  int channels() const { return channels_; }

  // Allocates and throws nothing.
  void put_row(int y, const std::uint8_t* pixels) noexcept;

 private:
  int width_, height_, channels_;
  std::uint8_t* origin_;                  // where the first stored pixel goes
  std::ptrdiff_t pixel_step_, row_step_;  // to the place of its right, and of its lower, neighbour
};

}  // namespace lockstep::data
