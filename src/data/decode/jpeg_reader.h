#pragma once
#include <cstddef>
#include <cstdio>
#include <span>

#include <jpeglib.h>

#include <lockstep/data/decode.h>

#include "error_jump.h"
#include "orientation.h"

#ifndef LIBJPEG_TURBO_VERSION
#error "This is another libjpeg than libjpeg-turbo, which alone can decode a part of a picture. Run scripts/setup."
#endif

namespace lockstep::data {

// One JPEG in memory, read by libjpeg-turbo. To make one costs two microseconds, so nothing is kept between pictures.
class JpegReader {
 public:
  static constexpr bool kShrinks = true;

  // Reads the header. Throws SampleError, as every function here.
  explicit JpegReader(std::span<const std::byte> encoded);
  ~JpegReader();
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  ImageSize size() const;
  Orientation orientation() const { return orientation_; }

  // Decodes the canvas's width x height pixels at `left` and `top` of the stored picture, both in pixels of the picture
  // made smaller by `1 / shrink`. Reads no further than it must. Once only.
  void read(int left, int top, int shrink, Canvas& canvas);

 private:
  enum class Trouble { kDamage, kEnd, kTooManyScans };

  static JpegReader& of(j_common_ptr info) { return *static_cast<JpegReader*>(info->client_data); }
  [[noreturn]] void fail(Trouble trouble);
  [[noreturn]] void throw_error();
  void set_callbacks();
  void find_orientation();
  void choose_colors(int channels);
  int crop_columns(int left, int count);
  void read_rows(int left, int top, Canvas& canvas);
  bool has_end();

  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  jpeg_source_mgr source_{};
  jpeg_progress_mgr progress_{};
  ErrorJump jump_;
  Trouble trouble_ = Trouble::kDamage;
  std::size_t bytes_;
  Orientation orientation_;
};

}  // namespace lockstep::data
