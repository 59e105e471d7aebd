// The fused half of kernels/dropout.h.
#pragma once
#include <lockstep/kernels/dropout.h>

namespace lockstep::kernels {

bool can_fused_dropout(const at::Tensor& input, double probability);
at::Tensor fused_dropout(const at::Tensor& input, double probability);

}  // namespace lockstep::kernels
