// Pictures for tests, made from a number.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <lockstep/data/image.h>
#include <lockstep/data/random_stream.h>

#include "data/tools/jpeg_encoder.h"

namespace lockstep::test {

// Blocks of random colors.
inline data::Image random_image(int width, int height, std::uint64_t seed) {
  data::Image image(width, height, 3);
  data::RandomStream random(seed, 0, 0);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      std::uint8_t* pixel = image.row(y) + std::ptrdiff_t{x} * 3;
      for (int c = 0; c < 3; ++c) {
        const bool fresh = x % 8 == 0 && y % 8 == 0;
        pixel[c] = fresh        ? static_cast<std::uint8_t>(random.below(256))
                   : x % 8 != 0 ? pixel[c - 3]
                                : image.row(y - 1)[x * 3 + c];
      }
    }
  }
  return image;
}

inline std::string jpeg_text(int width, int height, std::uint64_t seed) {
  const auto bytes = data::encode_jpeg(random_image(width, height, seed), 90);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace lockstep::test
