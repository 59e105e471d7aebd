// From a file's bytes to pixels, with only the work that is needed. Nothing in the bytes is trusted: sizes are checked
// before memory is taken, and what is wrong is said, never guessed at.
//
// JPEG and PNG, told apart by their first bytes, whatever the file is called. Pixels are those of Pillow's
// convert("RGB"): alpha is dropped, CMYK is taken as Adobe writes it. Two things differ, because they are to come out
// right: EXIF orientation is applied, and of 16 bits the upper 8 are kept, where Pillow makes a 16-bit gray picture
// white.
//
// A file that ends too early is refused, even where the missing part is not asked for. Damage inside a JPEG that leaves
// it readable gives wrong pixels, as it does in Pillow; a PNG has checksums, and those of the part that is read are
// checked.
//
// The functions keep no state and may be called from many threads at once. The errors do not know the sample's name;
// who calls adds it, with SampleError::of.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include <lockstep/data/image.h>

namespace lockstep::data {

// A part of a picture, in pixels of the picture as a person sees it (EXIF orientation applied).
struct Region {
  int left = 0, top = 0, width = 0, height = 0;

  bool operator==(const Region&) const = default;
};

struct ImageSize {
  int width = 0, height = 0;

  bool operator==(const ImageSize&) const = default;
};

struct DecodeLimits {
  // The largest picture that is decoded; 178,956,970 is where Pillow refuses a decompression bomb.
  std::int64_t pixels = 178'956'970;
  // The longest side: what is done row by row or column by column takes memory for each.
  int side = 1'000'000;
};

// How large the picture is, from its header alone. Throws SampleError for bytes that are no JPEG and no PNG, and for a
// picture beyond the limits.
ImageSize picture_size(std::span<const std::byte> encoded, const DecodeLimits& limits = {});

// What was decoded: `image` holds the pixels of `region` of the picture, made smaller by `1 / shrink` in both
// directions: its pixel (x, y) stands for the square of `shrink` pixels at region.left + x * shrink, region.top + y *
// shrink. The region is the one asked for, grown to whole squares, of which the outermost may stand out over the
// picture's edge. So with a `shrink` of 1 it is the one asked for.
struct Decoded {
  Region region;
  int shrink = 1;
};

// Decodes a part into `image`, as RGB (3 channels) or gray (1; of a color JPEG its luma). `shrink` says by how much the
// picture may be made smaller on the way (1, 2, 4 or 8): JPEG does that at no cost, and PNG ignores it. Pixels do not
// depend on the region: those of a part equal those of the whole. Throws SampleError with what is wrong, and UsageError
// for a region that is not inside the picture.
Decoded decode(std::span<const std::byte> encoded, const Region& region, int shrink, int channels, Image& image,
               const DecodeLimits& limits = {});

// The whole picture at its full size.
void decode(std::span<const std::byte> encoded, int channels, Image& image, const DecodeLimits& limits = {});

}  // namespace lockstep::data
