// The half of kernels/pool.h for tensors on GPUs.
#pragma once
#include <lockstep/kernels/pool.h>

namespace lockstep::kernels {

bool can_cuda_max_pool(const at::Tensor& input, const MaxPool& options);
at::Tensor cuda_max_pool(const at::Tensor& input, const MaxPool& options);

bool can_cuda_average_pool(const at::Tensor& input);
at::Tensor cuda_average_pool(const at::Tensor& input);

}  // namespace lockstep::kernels
