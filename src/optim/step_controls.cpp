#include <lockstep/optim/step_controls.h>

#include <algorithm>
#include <utility>

#include <ATen/ops/full.h>

#include "tensor_batches.h"

namespace lockstep::optim {
namespace {

std::optional<at::Tensor> on(const at::Tensor& tensor, at::Device device) {
  if (!tensor.defined()) return std::nullopt;
  return moved(tensor.reshape({}), device, at::kFloat);
}

}  // namespace

void StepControls::set_gradient_scale(at::Tensor scale, at::Tensor found_inf) {
  scale_ = std::move(scale);
  found_inf_ = std::move(found_inf);
  skipped_.reset();
}

void StepControls::keep_rates(const Groups& groups) {
  keeps_rates_ = true;
  refresh_rates(groups);
}

void StepControls::refresh_rates(const Groups& groups) {
  if (!keeps_rates_) return;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (const at::Tensor& parameter : groups[i].params()) {
      if (!parameter.is_cpu()) bring(i, groups[i].options().get_lr(), parameter.device());
    }
  }
}

// Only a rate that has changed is written: a step that is being captured must not record its rate of that moment.
void StepControls::bring(std::size_t group, double value, at::Device device) {
  const auto kept = std::find_if(rates_.begin(), rates_.end(), [&](const Rate& rate) {
    return rate.group == group && rate.tensor.device() == device;
  });
  if (kept == rates_.end()) {
    rates_.push_back({group, at::full({}, value, at::TensorOptions(device).dtype(at::kFloat)), value});
  } else if (kept->value != value) {
    kept->tensor.fill_(value);
    kept->value = value;
  }
}

void StepControls::begin(const Groups& groups) {
  refresh_rates(groups);
  // Kernels take 1 alone for a step to skip; a sum over ranks may be more.
  if (may_skip()) skipped_ = found_inf_.ne(0);
}

bool StepControls::is_skipped() const {
  return may_skip() && skipped_.item<bool>();
}

std::optional<at::Tensor> StepControls::gradient_scale(at::Device device) const {
  return on(scale_, device);
}

std::optional<at::Tensor> StepControls::found_inf(at::Device device) const {
  return on(skipped_, device);
}

at::Tensor StepControls::rate(std::size_t group, at::Device device) const {
  for (const Rate& rate : rates_) {
    if (rate.group == group && rate.tensor.device() == device) return rate.tensor;
  }
  return {};
}

}  // namespace lockstep::optim
