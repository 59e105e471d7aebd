#pragma once
#include <ATen/core/Tensor.h>

namespace lockstep::parallel {

// Makes `bucket`, which is the bucket of this one parameter, hold its gradient without copying it: the two exchange
// their memory. What the gradient holds afterwards is undefined; the caller replaces it.
//
// To be called from a post hook of the parameter's gradient accumulator, whose input was `incoming`. Returns false, and
// changes nothing, when the gradient does not fill the bucket in the parameter's layout, or is seen by others too.
bool adopt_gradient(const at::Tensor& parameter, const at::Tensor& incoming, const at::Tensor& bucket);

}  // namespace lockstep::parallel
