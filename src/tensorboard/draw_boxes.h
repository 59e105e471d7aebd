#pragma once
#include <array>
#include <span>
#include <string>

#include <lockstep/data/image.h>

namespace lockstep::tensorboard {

// Left, top, right and bottom, in pixels; what lies outside of the image is not seen.
using BoxEdges = std::array<float, 4>;

// Draws red frames, two pixels wide, on an RGB image. `labels` is empty or has one for each box: black on red, above
// the lower left corner; characters that are not ASCII become "?".
void draw_boxes(data::Image& image, std::span<const BoxEdges> boxes, std::span<const std::string> labels);

}  // namespace lockstep::tensorboard
