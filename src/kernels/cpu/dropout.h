// The fused half of kernels/dropout.h.
#pragma once
#include <lockstep/kernels/dropout.h>

#include "dropout_kernels.h"

namespace lockstep::kernels {

bool can_fused_dropout(const at::Tensor& input, double probability);
at::Tensor fused_dropout(const at::Tensor& input, double probability);

// The values of x that `seed` keeps, scaled. In blocks of a fixed size, so it does not depend on the threads.
void drop_values(const DropoutKernels& kernels, float* y, const float* x, std::int64_t count, std::uint64_t seed,
                 double probability);

}  // namespace lockstep::kernels
