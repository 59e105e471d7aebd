#pragma once
#include <lockstep/data/decode.h>
#include <lockstep/data/picture.h>

namespace lockstep::data {

// How large it is, whatever its form. Throws SampleError for one that is no picture.
inline ImageSize size_of(const Picture& picture) {
  if (picture.form == Picture::Form::kPixels) return {.width = picture.width, .height = picture.height};
  return picture_size(picture.bytes);
}

}  // namespace lockstep::data
