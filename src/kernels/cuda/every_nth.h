// What a shortcut with a stride reads of a residual block's result.
#pragma once
#include <ATen/core/Tensor.h>

#include "few_places.h"

namespace lockstep::kernels::cuda {

FewPlaces places_of(at::IntArrayRef sizes, std::int64_t stride);

// The few places of pictures, and their gradient among zeros, of pictures of `sizes`. All have channels last.
at::Tensor few_of(const at::Tensor& pictures, std::int64_t stride);
at::Tensor among_zeros(const at::Tensor& few, at::IntArrayRef sizes, std::int64_t stride);

}  // namespace lockstep::kernels::cuda
