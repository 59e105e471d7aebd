#include "jpeg_encoder.h"

#include <array>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <jpeglib.h>

#include <lockstep/base/errors.h>

namespace lockstep::data {
namespace {

// libjpeg reports an error by a call that must not return.
struct Failure {
  jpeg_error_mgr manager{};
  std::jmp_buf place{};
  std::array<char, JMSG_LENGTH_MAX> text{};
};

[[noreturn]] void fail(j_common_ptr codec) {
  auto* failure = static_cast<Failure*>(codec->client_data);
  codec->err->format_message(codec, failure->text.data());
  std::longjmp(failure->place, 1);
}

// Nothing here has a destructor, so nothing is lost by the jump. False when it failed.
bool compress(jpeg_compress_struct& codec, Failure& failure, const Image& image, int quality, unsigned char** bytes,
              unsigned long* size) {
  if (setjmp(failure.place) != 0) return false;
  jpeg_create_compress(&codec);
  jpeg_mem_dest(&codec, bytes, size);
  codec.image_width = static_cast<JDIMENSION>(image.width());
  codec.image_height = static_cast<JDIMENSION>(image.height());
  codec.input_components = image.channels();
  codec.in_color_space = image.channels() == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&codec);
  jpeg_set_quality(&codec, quality, TRUE);
  jpeg_start_compress(&codec, TRUE);
  while (codec.next_scanline < codec.image_height) {
    auto* row = const_cast<std::uint8_t*>(image.row(static_cast<int>(codec.next_scanline)));
    jpeg_write_scanlines(&codec, &row, 1);
  }
  jpeg_finish_compress(&codec);
  return true;
}

}  // namespace

std::vector<std::byte> encode_jpeg(const Image& image, int quality) {
  jpeg_compress_struct codec{};
  Failure failure;
  codec.err = jpeg_std_error(&failure.manager);
  codec.err->error_exit = &fail;
  codec.client_data = &failure;
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  const bool done = compress(codec, failure, image, quality, &bytes, &size);
  jpeg_destroy_compress(&codec);
  const std::unique_ptr<unsigned char, void (*)(void*)> owner(bytes, &std::free);
  if (!done) throw RuntimeError("cannot encode a JPEG: " + std::string(failure.text.data()));
  const auto* first = reinterpret_cast<const std::byte*>(bytes);
  return {first, first + size};
}

}  // namespace lockstep::data
