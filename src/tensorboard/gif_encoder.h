#pragma once
#include <span>
#include <string>

#include <lockstep/data/image.h>

namespace lockstep::tensorboard {

// An animated GIF that repeats for ever. Frames are RGB, at least one, all of one size, at most 65,535 pixels a side.
// A frame stands for a whole number of hundredths of a second, at least two: browsers show shorter ones slowly.
std::string encode_gif(std::span<const data::Image> frames, double frames_per_second);

}  // namespace lockstep::tensorboard
