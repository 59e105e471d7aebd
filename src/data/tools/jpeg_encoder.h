#pragma once
#include <cstddef>
#include <vector>

#include <lockstep/data/image.h>

namespace lockstep::data {

inline constexpr int kLongestJpegSide = 65'500;

// A JPEG file's bytes, from 1 or 3 channels and sides up to that; `quality` is libjpeg's, from 1 to 100. Throws
// RuntimeError when the encoder fails.
std::vector<std::byte> encode_jpeg(const Image& image, int quality);

}  // namespace lockstep::data
