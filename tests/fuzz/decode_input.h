// What the fuzzers of pictures do with their input.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>

#include <lockstep/data/decode.h>
#include <lockstep/data/picture.h>
#include <lockstep/data/random_stream.h>

namespace lockstep::test {

// Decodes the bytes whole, and parts of them that depend on nothing but the bytes. What is refused must be refused with
// a SampleError; what is decoded must have the shape that it says.
inline void decode_input(std::span<const std::uint8_t> input) {
  using namespace lockstep::data;
  const auto encoded = std::as_bytes(input);
  const DecodeLimits limits{.pixels = 1 << 16};
  const auto require = [](bool holds) {
    if (!holds) std::abort();
  };
  std::uint64_t sum = 0;
  for (const std::uint8_t byte : input) sum = sum * 31 + byte;
  RandomStream random(sum, 0, 0);
  const auto below = [&](int limit) { return static_cast<int>(random.below(static_cast<std::uint64_t>(limit))); };
  try {
    const ImageSize size = picture_size(encoded, limits);
    require(size.width > 0 && size.height > 0);
    Image image;
    const int channels = random.chance(0.5) ? 3 : 1;
    for (int trial = 0; trial < 3; ++trial) {
      Region region{.left = below(size.width), .top = below(size.height)};
      region.width = 1 + below(size.width - region.left);
      region.height = 1 + below(size.height - region.top);
      const Decoded part = decode(encoded, region, 1 << below(4), channels, image, limits);
      require(part.region.width == image.width() * part.shrink && part.region.height == image.height() * part.shrink);
      require(part.region.left <= region.left && part.region.top <= region.top);
    }
    decode(encoded, channels, image, limits);
    require(image.width() == size.width && image.height() == size.height);
  } catch (const SampleError&) {
    return;
  }
}

}  // namespace lockstep::test
