// The loops over pixels. They are compiled once for each instruction set (pixel_kernels_*.cpp), so this header and what
// includes it there must bring no inline function that another file could share: the linker keeps one of several
// copies, and it could be one that this CPU cannot run.
#pragma once
#include <cstddef>
#include <cstdint>

namespace lockstep::data {

// So many bytes after the end of a row may be read and, in a row that is written, overwritten.
inline constexpr int kRowSlack = 64;

// Normalization takes its factors from arrays of this length, in which the channels take turns: a multiple of three and
// of every vector's length.
inline constexpr int kFactorPeriod = 48;

// Weights come in groups of this many: as many pixels of three bytes as one load of 16 bytes brings.
inline constexpr int kTapGroup = 4;

// How the pixels of a row are made from those of a longer or shorter one.
struct RowTaps {
  const std::int32_t* first;    // for each pixel made: the first one that it is made from
  const std::int16_t* weights;  // groups x count x kTapGroup; those of pixels that have no part are 0
  int groups;
  int count;
  int shift;  // the weights of a pixel add up to about 1 << shift
};

struct PixelKernels {
  // Makes taps.count pixels of 1 or 3 bytes.
  void (*resample_row)(std::uint8_t* out, const std::uint8_t* row, const RowTaps& taps, int channels);

  // Adds up `taps` rows of `bytes` bytes, each with its weight; the rows lie `stride` bytes apart.
  void (*combine_rows)(std::uint8_t* out, const std::uint8_t* rows, std::size_t stride, const std::int16_t* weights,
                       int taps, int shift, std::size_t bytes);

  // out[i] = in[i] * scale[i % kFactorPeriod] + bias[i % kFactorPeriod], rounded after each step. Neither needs slack.
  void (*to_floats)(float* out, const std::uint8_t* in, std::size_t count, const float* scale, const float* bias);

  // The pixels from the last to the first. Neither needs slack.
  void (*mirror_row)(std::uint8_t* out, const std::uint8_t* row, int width, int channels);
};

// The numbers are the same on every instruction set, to the last bit.
extern const PixelKernels kPixelKernelsBase;
extern const PixelKernels kPixelKernelsAvx2;
extern const PixelKernels kPixelKernelsAvx512;

// The best that this CPU can run.
const PixelKernels& pixel_kernels();

}  // namespace lockstep::data
