#include "recode.h"

#include <algorithm>

#include <fmt/format.h>

#include <lockstep/data/decode.h>
#include <lockstep/data/image.h>

#include <lockstep/data/pipeline.h>

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
  image.reset(picture.width, picture.height, kChannels);
  const auto* value = reinterpret_cast<const std::uint8_t*>(picture.bytes.data());
  auto pixels = image.pixels();
  if (picture.channels == kChannels) {
    std::copy_n(value, pixels.size(), pixels.begin());
  } else {
    for (auto pixel = pixels.begin(); pixel != pixels.end(); pixel += kChannels)
      std::fill_n(pixel, kChannels, *value++);
  }
}

// As torchvision's Resize with one number.
ImageSize with_shorter_side(const Image& image, int size) {
  const std::int64_t shorter = std::min(image.width(), image.height()),
                     longer = std::max(image.width(), image.height());
  const std::int64_t other = std::int64_t{size} * longer / shorter;
  // A strip of one pixel's height would become as long as it likes.
  constexpr std::int64_t kLongest = 65'500;
  if (other > kLongest) {
    throw SampleError({.message = "the picture is too narrow to be resized",
                       .found = fmt::format("{} x {}", image.width(), image.height()),
                       .expected = fmt::format("a longer side of at most {} afterwards", kLongest)});
  }
  const int longest = static_cast<int>(other);
  return image.width() <= image.height() ? ImageSize{size, longest} : ImageSize{longest, size};
}

void scale(const Image& image, ImageSize size, Image& scaled) {
  const Pipeline scaling({resize(size)});
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
    scale(decoded, with_shorter_side(decoded, *options.size), resized);
    image = &resized;
  }
  if (options.form == PackOptions::Form::kJpeg) {
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
