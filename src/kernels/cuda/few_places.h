// Those places of pictures whose row and column are multiples of a stride: what a convolution whose window is one place
// reads.
#pragma once
#include "divider.h"

namespace lockstep::kernels::cuda {

// Places have numbers, picture by picture and row by row: among all of them, and among the few.
struct FewPlaces {
  FewPlaces() = default;
  FewPlaces(int picture_height, int picture_width, int step)
      : height(picture_height),
        width(picture_width),
        stride(step),
        few_height((picture_height + step - 1) / step),
        few_width((picture_width + step - 1) / step) {}

#ifdef __CUDACC__
  // -1: it is none of the few.
  __device__ int few_of(int place) const {
    const Quotient line = width(place), picture = height(line.whole);
    const Quotient y = stride(picture.rest), x = stride(line.rest);
    if (y.rest != 0 || x.rest != 0) return -1;
    return (picture.whole * number(few_height) + y.whole) * number(few_width) + x.whole;
  }
  __device__ int place_of(int few) const {
    const Quotient line = few_width(few), picture = few_height(line.whole);
    const int y = picture.rest * number(stride), x = line.rest * number(stride);
    return (picture.whole * number(height) + y) * number(width) + x;
  }

  __device__ static int number(const Divider& divider) {
    return static_cast<int>(divider.divisor);
  }
#endif

  Divider height, width, stride, few_height, few_width;
};

}  // namespace lockstep::kernels::cuda
