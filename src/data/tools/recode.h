#pragma once
#include <lockstep/data/picture.h>
#include <lockstep/data/tools/pack.h>

namespace lockstep::data {

// The picture in the form that is wanted, from any thread. Throws SampleError, without the picture's name, when it
// cannot be decoded.
Picture recode(const Picture& picture, const PackOptions& options);

}  // namespace lockstep::data
