// From a file's bytes to pixels, with only the work that is needed. Nothing in the bytes is trusted: sizes are checked
// before memory is taken, and what is wrong is said, never guessed at.
#pragma once
#include <cstddef>
#include <span>

#include <lockstep/data/image.h>

namespace lockstep::data {

// A part of a picture, in pixels of the picture as a person sees it (EXIF orientation applied).
struct Region {
  int left = 0, top = 0, width = 0, height = 0;
};

struct ImageSize {
  int width = 0, height = 0;

  bool operator==(const ImageSize&) const = default;
};

struct DecodeLimits {
  // The largest picture that is decoded; 178,956,970 is where Pillow warns of a decompression bomb.
  std::int64_t pixels = 178'956'970;
};

// How large the picture is, from its header alone. Throws SampleError for bytes that are no JPEG and no PNG, and for a
// picture beyond the limits.
ImageSize picture_size(std::span<const std::byte> encoded, const DecodeLimits& limits = {});

// What was decoded: `image` holds the pixels of `region` of the picture, made smaller by `1 / shrink` in both
// directions. The region is the one asked for or one around it.
struct Decoded {
  Region region;
  int shrink = 1;
};

// Decodes a part into `image`, as RGB (3 channels) or gray (1). `shrink` says by how much the picture may be made
// smaller on the way (1, 2, 4 or 8): JPEG does that at no cost, and PNG ignores it. Throws SampleError with what is
// wrong.
Decoded decode(std::span<const std::byte> encoded, const Region& region, int shrink, int channels, Image& image,
               const DecodeLimits& limits = {});

// The whole picture at its full size.
void decode(std::span<const std::byte> encoded, int channels, Image& image, const DecodeLimits& limits = {});

}  // namespace lockstep::data
