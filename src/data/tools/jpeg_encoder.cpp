#include "jpeg_encoder.h"

#include <array>
#include <csetjmp>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>

#include <jpeglib.h>
// This one needs the one before.
#include <jerror.h>

#include <lockstep/base/errors.h>

namespace lockstep::data {
namespace {

static_assert(kLongestJpegSide == JPEG_MAX_DIMENSION);

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

// Where the encoder writes to. libjpeg's own destination frees its memory behind the caller's back when it grows, and
// does not say so when it fails.
struct Destination : jpeg_destination_mgr {
  std::vector<std::byte> bytes;

  Destination() : jpeg_destination_mgr{}, bytes(std::size_t{1} << 16) {
    init_destination = [](j_compress_ptr codec) { of(codec).offer(0); };
    empty_output_buffer = &when_full;
    term_destination = [](j_compress_ptr codec) {
      Destination& self = of(codec);
      self.bytes.resize(self.bytes.size() - self.free_in_buffer);
    };
  }

  static Destination& of(j_compress_ptr codec) { return *static_cast<Destination*>(codec->dest); }

  static boolean when_full(j_compress_ptr codec) {
    Destination& self = of(codec);
    const std::size_t full = self.bytes.size();
    if (!self.grow()) ERREXIT1(codec, JERR_OUT_OF_MEMORY, 0);
    self.offer(full);
    return TRUE;
  }

  // No exception may pass through libjpeg. False when there is no memory.
  bool grow() noexcept {
    try {
      bytes.resize(bytes.size() * 2);
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  // What lies behind the first `used` bytes is free.
  void offer(std::size_t used) {
    next_output_byte = reinterpret_cast<JOCTET*>(bytes.data() + used);
    free_in_buffer = bytes.size() - used;
  }
};

// Nothing here has a destructor, so nothing is lost by the jump. False when it failed.
bool compress(jpeg_compress_struct& codec, Failure& failure, const Image& image, int quality, Destination& target) {
  if (setjmp(failure.place) != 0) return false;
  jpeg_create_compress(&codec);
  codec.dest = &target;
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
  Destination target;
  const bool done = compress(codec, failure, image, quality, target);
  jpeg_destroy_compress(&codec);
  if (!done) throw RuntimeError("cannot encode a JPEG: " + std::string(failure.text.data()));
  return std::move(target.bytes);
}

}  // namespace lockstep::data
