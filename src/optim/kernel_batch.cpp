#include "kernel_batch.h"

#include <ATen/ops/as_strided.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/view_as_real.h>

namespace lockstep::optim {
namespace {

// Dimensions of size 1 have strides that mean nothing.
bool same_layout(const at::Tensor& a, const at::Tensor& b) {
  for (std::int64_t i = 0; i < a.dim(); ++i) {
    if (a.size(i) != 1 && a.stride(i) != b.stride(i)) return false;
  }
  return true;
}

at::Tensor as_real(const at::Tensor& tensor) {
  return tensor.is_complex() ? at::view_as_real(tensor) : tensor;
}

// The CPU's kernels copy a gradient with channels last, though they need no more than its values in any order.
at::Tensor in_a_row(const at::Tensor& dense) {
  return dense.is_cpu() && !dense.is_contiguous() ? dense.as_strided({dense.numel()}, {1}) : dense;
}

}  // namespace

at::Tensor fitting_state(const at::Tensor& parameter, const at::Tensor& state) {
  // Of one with gaps only the layout is asked for, so nothing is allocated.
  const at::Tensor model = parameter.is_non_overlapping_and_dense()
                               ? parameter
                               : at::empty_like(parameter, parameter.options().device(at::kMeta));
  const bool fits = state.device() == parameter.device() && state.scalar_type() == parameter.scalar_type() &&
                    same_layout(state, model);
  return fits ? state : at::empty_like(parameter).copy_(state);
}

// `tensor` where `like` has its elements, in real numbers of `type`.
at::Tensor KernelBatch::operand(const at::Tensor& tensor, const at::Tensor& like, at::ScalarType type) {
  const bool fits = !tensor.is_sparse() && !tensor.is_conj() && !tensor.is_neg() && same_layout(tensor, like) &&
                    (tensor.is_complex() || tensor.scalar_type() == type) && tensor.scalar_type() == like.scalar_type();
  if (fits) return as_real(tensor);
  const auto copied_type = like.is_complex() ? like.scalar_type() : type;
  return as_real(
      at::empty_like(like, like.options().dtype(copied_type)).copy_(tensor.is_sparse() ? tensor.to_dense() : tensor));
}

void KernelBatch::add(const at::Tensor& parameter, std::initializer_list<at::Tensor> state_of_it, at::ScalarType type) {
  const at::Tensor original = parameter.detach();
  const at::Tensor dense = original.is_non_overlapping_and_dense() ? original : at::empty_like(original);
  const auto writable = [&](const at::Tensor& tensor) {
    at::Tensor used = operand(tensor, dense, type);
    if (used.data_ptr() != tensor.data_ptr()) copies_.emplace_back(as_real(tensor), used);
    return used;
  };
  parameters.push_back(in_a_row(writable(original)));
  gradients.push_back(in_a_row(operand(parameter.grad().detach(), dense, type)));
  state.resize(state_of_it.size());
  auto list = state.begin();
  for (const at::Tensor& tensor : state_of_it) (list++)->push_back(in_a_row(writable(tensor)));
  if (parameters.back().data_ptr() == original.data_ptr()) changed_.push_back(original);
}

void KernelBatch::finish() const {
  for (const auto& [original, copy] : copies_) original.copy_(copy);
  for (const at::Tensor& parameter : changed_) parameter.unsafeGetTensorImpl()->bump_version();
}

}  // namespace lockstep::optim
