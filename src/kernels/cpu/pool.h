// The fused half of kernels/pool.h.
#pragma once
#include <lockstep/kernels/pool.h>

namespace lockstep::kernels {

bool can_fused_max_pool(const at::Tensor& input, const MaxPool& options);
at::Tensor fused_max_pool(const at::Tensor& input, const MaxPool& options);

bool can_fused_average_pool(const at::Tensor& input);
at::Tensor fused_average_pool(const at::Tensor& input);

}  // namespace lockstep::kernels
