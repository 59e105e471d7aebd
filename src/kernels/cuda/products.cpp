#include "products.h"

#include "tensors.h"

namespace lockstep::kernels::cuda {

bool are_product(const at::Tensor& input, const at::Tensor& weight) {
  const auto fits = [](const at::Tensor& tensor) {
    return tensor.is_cuda() && tensor.scalar_type() == at::kBFloat16 && tensor.dim() == 4;
  };
  if (!fits(input) || !fits(weight) || weight.device() != input.device() || weight.size(1) != input.size(1))
    return false;
  if (weight.size(2) != 1 || weight.size(3) != 1 || weight.numel() == 0 || !weight.is_contiguous()) return false;
  if (weight.size(0) % kProductMultiple != 0 || weight.size(1) % kProductMultiple != 0) return false;
  const Kernels* kernels = kernels_on(input.device());
  return kernels != nullptr && kernels->have_products() && is_taken(input) && is_aligned(weight);
}

at::Tensor matrix_of(const at::Tensor& input) {
  const Rows rows = rows_of(input);
  return input.as_strided({rows.rows, rows.channels}, {rows.channels, 1});
}

RowsProduct::Term term_of(const at::Tensor& input, const at::Tensor& weight) {
  return {.x = input.const_data_ptr(), .weight = weight.const_data_ptr(), .inputs = static_cast<int>(input.size(1))};
}

}  // namespace lockstep::kernels::cuda
