// Conversions that the decoding libraries leave to us, with Pillow's arithmetic.
#pragma once
#include <cstdint>

namespace lockstep::data {

// Both work in place: the result never overtakes what is still to be read.

// From CMYK as Adobe stores it, inverted.
inline void inverted_cmyk_to_rgb(std::uint8_t* pixels, int count) {
  const std::uint8_t* cmyk = pixels;
  for (int i = 0; i < count; ++i, cmyk += 4) {
    const int light = cmyk[3];
    for (int channel = 0; channel < 3; ++channel) {
      const int ink = (255 - cmyk[channel]) * light + 128;
      *pixels++ = static_cast<std::uint8_t>(light - ((ink + (ink >> 8)) >> 8));
    }
  }
}

inline void rgb_to_gray(std::uint8_t* pixels, int count) {
  const std::uint8_t* rgb = pixels;
  for (int i = 0; i < count; ++i, rgb += 3) {
    *pixels++ = static_cast<std::uint8_t>((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16);
  }
}

}  // namespace lockstep::data
