#include "recode.h"

#include <algorithm>

#include <fmt/format.h>

#include <lockstep/data/decode.h>
#include <lockstep/data/image.h>
#include <lockstep/data/pipeline.h>

#include "../picture_size.h"
#include "jpeg_encoder.h"

namespace lockstep::data {
namespace {

constexpr int kChannels = 3;
// The whole file is read and every coefficient decoded, but an eighth of the pixels suffice to know that it works.
constexpr int kCheckShrink = 8;

// Red, green and blue, whatever the picture holds.
void pixels_of(const Picture& picture, Image& image) {
  if (picture.form == Picture::Form::kEncoded) {
    decode(picture.bytes, kChannels, image);
    return;
  }
  const ImageSize size = size_of(picture);
  image.reset(size.width, size.height, kChannels);
  const auto* value = reinterpret_cast<const std::uint8_t*>(picture.bytes.data());
  auto pixels = image.pixels();
  if (picture.channels == kChannels) {
    std::copy_n(value, pixels.size(), pixels.begin());
  } else {
    for (auto pixel = pixels.begin(); pixel != pixels.end(); pixel += kChannels)
      std::fill_n(pixel, kChannels, *value++);
  }
}

// The longest side that a JPEG has. Pixels that are resized may have no longer one either: a strip of one pixel's
// height would become as long as it likes.
void check_sides(ImageSize size, const Image& image) {
  if (std::max(size.width, size.height) <= kLongestJpegSide) return;
  throw SampleError(
      {.message = "the picture is too long",
       .found = fmt::format("{} x {}, from {} x {}", size.width, size.height, image.width(), image.height()),
       .expected = fmt::format("a side of at most {}", kLongestJpegSide)});
}

// As torchvision's Resize with one number.
void with_shorter_side(int shorter, const Image& image, Image& scaled) {
  const Pipeline scaling({resize(shorter)});
  const ImageSize size = scaling.output_size({image.width(), image.height()});
  check_sides(size, image);
  const Picture pixels{.form = Picture::Form::kPixels,
                       .bytes = std::as_bytes(image.pixels()),
                       .owner = {},
                       .width = image.width(),
                       .height = image.height(),
                       .channels = image.channels()};
  thread_local Pipeline::Scratch scratch;
  scaled.reset(size.width, size.height, kChannels);
  scaling.run(pixels, RandomStream(0, 0, 0), scratch, scaled.pixels());
}

void check(const Picture& picture, Image& scratch) {
  if (picture.form != Picture::Form::kEncoded) return;
  const ImageSize size = picture_size(picture.bytes);
  decode(picture.bytes, {.width = size.width, .height = size.height}, kCheckShrink, kChannels, scratch);
}

}  // namespace

Picture recode(const Picture& picture, const PackOptions& options) {
  thread_local Image decoded, resized;
  if (options.form == PackOptions::Form::kAsIs) {
    if (options.check) check(picture, decoded);
    return picture;
  }
  pixels_of(picture, decoded);
  const Image* image = &decoded;
  if (options.size) {
    with_shorter_side(*options.size, decoded, resized);
    image = &resized;
  }
  if (options.form == PackOptions::Form::kJpeg) {
    check_sides({image->width(), image->height()}, decoded);
    auto bytes = std::make_shared<const std::vector<std::byte>>(encode_jpeg(*image, options.quality));
    return {.bytes = *bytes, .owner = bytes, .label = picture.label};
  }
  const auto pixels = std::as_bytes(image->pixels());
  auto bytes = std::make_shared<const std::vector<std::byte>>(pixels.begin(), pixels.end());
  return {.form = Picture::Form::kPixels,
          .bytes = *bytes,
          .owner = bytes,
          .width = image->width(),
          .height = image->height(),
          .channels = kChannels,
          .label = picture.label};
}

}  // namespace lockstep::data
