#include <lockstep/data/decode.h>

#include <algorithm>

#include <fmt/format.h>

#include <lockstep/base/text.h>

#include "jpeg_reader.h"
#include "orientation.h"
#include "png_reader.h"
#include "sniff.h"

namespace lockstep::data {
namespace {

std::string text_of(ImageSize size) {
  return fmt::format("{} x {} pixels", size.width, size.height);
}

void require_within(const DecodeLimits& limits, ImageSize size) {
  if (std::int64_t{size.width} * size.height > limits.pixels) {
    throw bad_picture("the picture is larger than it may be", text_of(size),
                      fmt::format("at most {} pixels", format_count(limits.pixels)));
  }
  if (std::max(size.width, size.height) > limits.side) {
    throw bad_picture("the picture is longer than it may be", text_of(size),
                      fmt::format("at most {} pixels in a row", format_count(limits.side)));
  }
}

void require_inside(const Region& region, ImageSize size) {
  const bool inside = region.left >= 0 && region.top >= 0 && region.width > 0 && region.height > 0 &&
                      region.width <= size.width - region.left && region.height <= size.height - region.top;
  if (!inside) {
    throw UsageError(
        {.message = "the region to decode is not inside the picture",
         .found = fmt::format("{} x {} pixels at ({}, {})", region.width, region.height, region.left, region.top),
         .expected = "a part of " + text_of(size)});
  }
}

void require_sense(int shrink, int channels) {
  if (shrink != 1 && shrink != 2 && shrink != 4 && shrink != 8) {
    throw UsageError({.message = "a picture cannot be decoded at this scale",
                      .found = fmt::format("1 / {}", shrink),
                      .expected = "1, 1/2, 1/4 or 1/8"});
  }
  if (channels != 1 && channels != 3) {
    throw UsageError({.message = "a picture cannot be decoded to this number of channels",
                      .found = std::to_string(channels),
                      .expected = "1 or 3"});
  }
}

// The smallest whole squares of `shrink` pixels around it.
Region grown(const Region& region, int shrink) {
  const auto up = [shrink](int value) { return (value + shrink - 1) / shrink * shrink; };
  const int left = region.left / shrink * shrink, top = region.top / shrink * shrink;
  return {.left = left,
          .top = top,
          .width = up(region.left + region.width) - left,
          .height = up(region.top + region.height) - top};
}

// Calls `use` with the reader of what `encoded` holds.
template <typename Use>
auto with_reader(std::span<const std::byte> encoded, const DecodeLimits& limits, const Use& use) {
  const auto checked = [&](auto&& reader) {
    require_within(limits, reader.size());
    return use(reader);
  };
  return sniff(encoded) == Format::kJpeg ? checked(JpegReader(encoded)) : checked(PngReader(encoded));
}

template <typename Reader>
Decoded decode_part(Reader& reader, const Region& region, int shrink, int channels, Image& image) {
  if (!Reader::kShrinks) shrink = 1;
  const Orientation orientation = reader.orientation();
  require_inside(region, seen_size(reader.size(), orientation));
  const Region stored = grown(to_stored(region, reader.size(), orientation), shrink);
  Canvas canvas(image, stored.width / shrink, stored.height / shrink, channels, orientation);
  reader.read(stored.left / shrink, stored.top / shrink, shrink, canvas);
  return {.region = to_seen(stored, reader.size(), orientation), .shrink = shrink};
}

}  // namespace

ImageSize picture_size(std::span<const std::byte> encoded, const DecodeLimits& limits) {
  return with_reader(encoded, limits, [](auto& reader) { return seen_size(reader.size(), reader.orientation()); });
}

Decoded decode(std::span<const std::byte> encoded, const Region& region, int shrink, int channels, Image& image,
               const DecodeLimits& limits) {
  require_sense(shrink, channels);
  return with_reader(encoded, limits,
                     [&](auto& reader) { return decode_part(reader, region, shrink, channels, image); });
}

void decode(std::span<const std::byte> encoded, int channels, Image& image, const DecodeLimits& limits) {
  require_sense(1, channels);
  with_reader(encoded, limits, [&](auto& reader) {
    const ImageSize size = seen_size(reader.size(), reader.orientation());
    return decode_part(reader, {.width = size.width, .height = size.height}, 1, channels, image);
  });
}

}  // namespace lockstep::data
