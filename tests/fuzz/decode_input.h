// What the fuzzers of pictures do with their input.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include <lockstep/data/decode.h>
#include <lockstep/data/picture.h>
#include <lockstep/data/random_stream.h>

namespace lockstep::test {

inline void require(bool holds) {
  if (!holds) std::abort();
}

// The part lies where it says, and its pixels are those of the whole.
inline void require_inside(const data::Image& image, const data::Decoded& part, const data::Image& whole,
                           const data::Decoded& frame) {
  require(part.shrink == frame.shrink);
  require(part.region.width == image.width() * part.shrink && part.region.height == image.height() * part.shrink);
  const int left = (part.region.left - frame.region.left) / part.shrink;
  const int top = (part.region.top - frame.region.top) / part.shrink;
  require(left >= 0 && left + image.width() <= whole.width() && top >= 0 && top + image.height() <= whole.height());
  for (int y = 0; y < image.height(); ++y) {
    const std::uint8_t* expected = whole.row(top + y) + std::ptrdiff_t{left} * image.channels();
    require(std::equal(image.row(y), image.row(y) + image.row_bytes(), expected));
  }
}

// Decodes the bytes whole, and parts of them that depend on nothing but the bytes. What is refused must be refused with
// a SampleError.
inline void decode_input(std::span<const std::uint8_t> input) {
  const auto encoded = std::as_bytes(input);
  const data::DecodeLimits limits{.pixels = 1 << 16};
  std::uint64_t sum = 0;
  for (const std::uint8_t byte : input) sum = sum * 31 + byte;
  data::RandomStream random(sum, 0, 0);
  const auto below = [&](int limit) { return static_cast<int>(random.below(static_cast<std::uint64_t>(limit))); };
  try {
    const data::ImageSize size = data::picture_size(encoded, limits);
    require(size.width > 0 && size.height > 0);
    const int channels = random.chance(0.5) ? 3 : 1, shrink = 1 << below(4);
    data::Image whole, image;
    const data::Region all{.width = size.width, .height = size.height};
    const data::Decoded frame = data::decode(encoded, all, shrink, channels, whole, limits);
    for (int trial = 0; trial < 3; ++trial) {
      data::Region region{.left = below(size.width), .top = below(size.height)};
      region.width = 1 + below(size.width - region.left);
      region.height = 1 + below(size.height - region.top);
      const data::Decoded part = data::decode(encoded, region, shrink, channels, image, limits);
      require_inside(image, part, whole, frame);
    }
  } catch (const data::SampleError&) {
    return;
  }
}

}  // namespace lockstep::test
