#include "picture_size.h"

#include <fmt/format.h>

namespace lockstep::data {

ImageSize size_of(const Picture& picture, const DecodeLimits& limits) {
  if (picture.form == Picture::Form::kEncoded) return picture_size(picture.bytes, limits);
  const auto bytes = static_cast<std::int64_t>(picture.bytes.size());
  const bool shaped = picture.width > 0 && picture.height > 0 && (picture.channels == 1 || picture.channels == 3);
  if (!shaped || bytes % picture.width != 0 || bytes / picture.width % picture.height != 0 ||
      bytes / picture.width / picture.height != picture.channels) {
    throw SampleError({.message = "a picture's pixels do not fit its size",
                       .found = fmt::format("{} bytes for {} x {} pixels of {} channels", bytes, picture.width,
                                            picture.height, picture.channels),
                       .expected = "1 or 3 bytes for each pixel"});
  }
  return {picture.width, picture.height};
}

}  // namespace lockstep::data
