#pragma once
#include <lockstep/data/decode.h>
#include <lockstep/data/picture.h>

namespace lockstep::data {

// How large it is, whatever its form. Throws SampleError for one that is no picture, and for pixels that do not fit
// their size.
ImageSize size_of(const Picture& picture, const DecodeLimits& limits = {});

}  // namespace lockstep::data
