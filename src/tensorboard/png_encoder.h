#pragma once
#include <string>

#include <lockstep/data/image.h>

namespace lockstep::tensorboard {

// A PNG file of an image of 1, 3 or 4 channels.
std::string encode_png(const data::Image& image);

}  // namespace lockstep::tensorboard
