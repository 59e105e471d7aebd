// From tensors to pixels, as tensorboardX does it.
#pragma once
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <lockstep/data/image.h>

namespace lockstep::tensorboard {

// An image, or several in a grid with rows of eight, with 3 or 4 channels; gray becomes RGB. `dataformats` is CHW, HWC,
// HW, NCHW, NHWC or another order of these letters. Throws UsageError when the tensor does not fit them.
data::Image to_image(const at::Tensor& tensor, const std::string& dataformats);

// The frames of one video or of several, laid out in a grid. `dataformats` is an order of the letters NTCHW.
std::vector<data::Image> to_frames(const at::Tensor& video, const std::string& dataformats);

// Square images (NCHW) in a square that the projector cuts into them again.
data::Image to_sprite(const at::Tensor& images);

}  // namespace lockstep::tensorboard
