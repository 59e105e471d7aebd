#include "png_encoder.h"

#include <png.h>

#include <memory>

#include <lockstep/base/errors.h>

namespace lockstep::tensorboard {

std::string encode_png(const data::Image& image) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(image.width());
  png.height = static_cast<png_uint_32>(image.height());
  png.format = image.channels() == 1 ? PNG_FORMAT_GRAY : image.channels() == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
  const std::unique_ptr<png_image, decltype(&png_image_free)> released(&png, &png_image_free);
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(png);
  std::string encoded(size, '\0');
  if (png_image_write_to_memory(&png, encoded.data(), &size, 0, image.pixels().data(), 0, nullptr) == 0) {
    throw RuntimeError({.message = "libpng cannot encode an image", .found = png.message});
  }
  encoded.resize(size);
  return encoded;
}

}  // namespace lockstep::tensorboard
