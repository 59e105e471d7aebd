#pragma once
#include <ATen/core/Tensor.h>

namespace lockstep::parallel {

// The parameter's gradient, as other ranks have it: dense, in the parameter's layout, which is the same on all ranks
// while a gradient's own need not be. It is made so where it is not, and zeros where there is none.
at::Tensor prepared_gradient(const at::Tensor& parameter);

}  // namespace lockstep::parallel
