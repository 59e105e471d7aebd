// Tensors as products of rows and weights take them.
#pragma once
#include <ATen/core/Tensor.h>

#include "kernels.h"

namespace lockstep::kernels::cuda {

// Whether rows_product() can convolve them: pictures with channels last, and weights whose window is one place, of
// bfloat16, on a GPU with tensor cores for it.
bool are_product(const at::Tensor& input, const at::Tensor& weight);

// The rows of pictures.
at::Tensor matrix_of(const at::Tensor& input);

RowsProduct::Term term_of(const at::Tensor& input, const at::Tensor& weight);

}  // namespace lockstep::kernels::cuda
