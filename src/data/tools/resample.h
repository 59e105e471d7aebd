#pragma once
#include <lockstep/data/decode.h>
#include <lockstep/data/image.h>

namespace lockstep::data {

// Makes `target` the image at another size, bilinear and with antialiasing where it becomes smaller: bit-equal to
// Pillow's resize on 8-bit pictures.
void resample(const Image& source, ImageSize size, Image& target);

}  // namespace lockstep::data
