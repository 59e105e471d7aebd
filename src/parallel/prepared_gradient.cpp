#include "prepared_gradient.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/utils/grad_layout_contract.h>

namespace lockstep::parallel {

at::Tensor prepared_gradient(const at::Tensor& parameter) {
  at::Tensor& gradient = parameter.mutable_grad();
  if (!gradient.defined()) {
    gradient = at::zeros_like(parameter.detach());
  } else if (gradient.is_sparse() || !torch::autograd::utils::obeys_layout_contract(gradient, parameter)) {
    gradient = at::empty_like(parameter.detach()).copy_(gradient.is_sparse() ? gradient.to_dense() : gradient);
  }
  return gradient.detach();
}

}  // namespace lockstep::parallel
