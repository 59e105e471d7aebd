#pragma once
#include <array>
#include <cstddef>
#include <span>

#include <png.h>

#include <lockstep/data/decode.h>

#include "error_jump.h"
#include "orientation.h"

namespace lockstep::data {

// One PNG in memory, read by libpng.
class PngReader {
 public:
  static constexpr bool kShrinks = false;

  // Reads the header. Throws SampleError, as every function here.
  explicit PngReader(std::span<const std::byte> encoded);
  ~PngReader();
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  ImageSize size() const;
  Orientation orientation() const { return orientation_; }

  // Decodes the canvas's width x height pixels at `left` and `top` of the stored picture. Reads no further than it
  // must. Once only; `shrink` is 1.
  void read(int left, int top, int shrink, Canvas& canvas);

 private:
  static void take(png_structp png, png_bytep target, std::size_t count);
  [[noreturn]] static void note_error(png_structp png, png_const_charp text);
  [[noreturn]] void throw_error() const;
  void read_header();
  void find_orientation();
  void choose_form(int channels);
  bool has_end() const;

  std::span<const std::byte> encoded_;
  std::size_t position_ = 0;
  bool truncated_ = false;
  std::array<char, 128> text_{};  // libpng's words for what went wrong
  ErrorJump jump_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  Orientation orientation_;
};

}  // namespace lockstep::data
