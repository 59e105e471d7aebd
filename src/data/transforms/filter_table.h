// The weights of a resize in one direction, by Pillow's formula: a triangle as wide as the step from pixel to pixel,
// two pixels at least, cut off at the borders.
#pragma once
#include <cstdint>
#include <vector>

#include "pixel_kernels.h"

namespace lockstep::data {

// `length` source pixels from `start` on become `scaled` pixels, of which `count` from `begin` on are made. Source
// pixels below `low` and from `high` up are not there.
struct Stretch {
  double start = 0, length = 0;
  int scaled = 0, begin = 0, count = 0;
  int low = 0, high = 0;
};

// Weights are rounded to 16 bits, with as many of them behind the point as fit. It keeps its memory.
class FilterTable {
 public:
  void build(const Stretch& stretch);

  int count() const { return static_cast<int>(first_.size()); }
  int first(int i) const { return first_[static_cast<std::size_t>(i)]; }
  int taps() const { return taps_; }  // for each pixel; the last ones may be 0, and never reach beyond `high`
  int shift() const { return shift_; }
  const std::int16_t* weights(int i) const { return rounded_.data() + static_cast<std::ptrdiff_t>(i) * taps_; }

  // The same for resample_row; `mirrored` makes the pixels from the last to the first. Valid until it is called again.
  RowTaps for_rows(bool mirrored);

  // How many pixels of a row resample_row reads.
  int reach() const { return reach_; }

 private:
  void measure(const Stretch& stretch);
  void round();

  std::vector<std::int32_t> first_, row_first_;
  std::vector<double> exact_;
  std::vector<std::int16_t> rounded_, row_weights_;
  int taps_ = 0, shift_ = 0, reach_ = 0;
};

}  // namespace lockstep::data
