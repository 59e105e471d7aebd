#include "layerwise_update.h"

#include <utility>

#include <ATen/TensorUtils.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>

namespace lockstep::optim {
namespace {

constexpr std::int64_t kRow = 512;  // elements

at::ScalarType arithmetic_type(at::ScalarType type) {
  return type == at::kHalf || type == at::kBFloat16 ? at::kFloat : type;
}

// Where its gradient would be, if it had no gaps.
std::vector<std::int64_t> dense_strides(const at::Tensor& parameter) {
  return parameter.is_non_overlapping_and_dense() ? parameter.strides().vec()
                                                  : at::detail::defaultStrides(parameter.sizes());
}

}  // namespace

std::vector<std::int64_t> LayerwiseUpdate::rows_of(const std::vector<at::Tensor>& parameters) {
  std::vector<std::int64_t> rows;
  for (const at::Tensor& parameter : parameters) rows.push_back((parameter.numel() + kRow - 1) / kRow);
  return rows;
}

LayerwiseUpdate::LayerwiseUpdate(std::vector<at::Tensor> owners, at::Tensor row_owners, const StepControls& controls,
                                 std::size_t group)
    : owners_(std::move(owners)), row_owners_(std::move(row_owners)) {
  const at::Device device = owners_.front().device();
  const auto type = arithmetic_type(owners_.front().scalar_type());
  all_ = at::empty({row_owners_.numel(), kRow}, at::TensorOptions(device).dtype(type));
  std::vector<at::Tensor> gradients;
  std::int64_t offset = 0;
  for (const at::Tensor& parameter : owners_) {
    const at::Tensor gradient = parameter.grad().detach();
    gradients.push_back(gradient.is_sparse() ? gradient.to_dense() : gradient);
    parameters_.push_back(parameter.detach());
    updates_.push_back(all_.as_strided(parameter.sizes(), dense_strides(parameter), offset));
    offset += (parameter.numel() + kRow - 1) / kRow * kRow;
  }
  at::_foreach_copy_(updates_, gradients);
  if (const auto scale = controls.gradient_scale(device)) all_.div_(*scale);
  if (const auto found_inf = controls.found_inf(device)) {
    skipped_ = found_inf->ne(0);
    drop_if_skipped();
  }
  rate_ = controls.rate(group, device);
}

void LayerwiseUpdate::scale_each(const at::Tensor& factors) {
  all_.mul_(factors.to(all_.scalar_type()).index_select(0, row_owners_).unsqueeze(1));
}

at::Tensor LayerwiseUpdate::norms(const std::vector<at::Tensor>& tensors) const {
  return at::stack(at::_foreach_norm(tensors, 2, all_.scalar_type()));
}

at::Tensor LayerwiseUpdate::rate(double host_rate) const {
  return rate_.defined() ? rate_.to(all_.scalar_type()) : at::full({}, host_rate, all_.options());
}

at::Tensor LayerwiseUpdate::decay(double factor) const {
  at::Tensor decay = at::full({}, factor, all_.options());
  return skipped_ ? decay.masked_fill_(*skipped_, 1) : decay;
}

void LayerwiseUpdate::drop_if_skipped() {
  if (skipped_) all_.masked_fill_(*skipped_, 0);  // a product would keep what is not finite
}

void LayerwiseUpdate::subtract(const std::vector<at::Tensor>& values) {
  if (!skipped_) return at::_foreach_sub_(parameters_, values);
  if (&values != &updates_) at::_foreach_copy_(updates_, values);
  drop_if_skipped();
  at::_foreach_sub_(parameters_, updates_);
}

}  // namespace lockstep::optim
