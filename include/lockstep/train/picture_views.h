// What a model is shown of a test picture besides the picture itself.
#pragma once
#include <cstdint>
#include <functional>

#include <ATen/core/Tensor.h>

namespace lockstep::train {

struct PictureViews {
  bool mirror = false;     // its mirror image
  std::int64_t shift = 0;  // its copies that are moved by up to so many pixels in each direction; borders are reflected

  bool are_several() const { return mirror || shift > 0; }
};

// Throws UsageError where samples of this shape (without the batch) do not have these views: no pictures, or too small.
void require_views(const PictureViews& views, at::IntArrayRef sample);

// The mean of the outputs for all views of each picture (NCHW), each shift also with its mirror image. Throws as above.
at::Tensor mean_over_views(const PictureViews& views, const at::Tensor& pictures,
                           const std::function<at::Tensor(const at::Tensor&)>& forward);

}  // namespace lockstep::train
