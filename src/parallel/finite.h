#pragma once
#include <ATen/core/Tensor.h>

namespace lockstep::parallel {

// Whether a dense tensor in the CPU's memory holds neither NaN nor infinity, as far as it is looked at: all of it up to
// a quarter of a million elements, else its first row and its first column. A NaN that came through a layer, in its
// input or in the gradient of its output, fills a row or a column of the weight's gradient, so it is seen there. Types
// without NaN are finite.
bool looks_finite(const at::Tensor& tensor);

}  // namespace lockstep::parallel
