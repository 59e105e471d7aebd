#include "unscale.h"

#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/zeros_like.h>

namespace lockstep::amp {
namespace {

// The tensor that holds the gradient's values.
at::Tensor values_of(const at::Tensor& parameter) {
  at::Tensor& gradient = parameter.mutable_grad();
  if (!gradient.is_sparse()) return gradient;
  // Values of one index are added up later, where they may overflow in fp16: so now.
  if (gradient.scalar_type() == at::kHalf) gradient = gradient.coalesce();
  return gradient._values();
}

template <typename Predicate>
bool any_gradient(const torch::optim::Optimizer& optimizer, Predicate is_one) {
  for (const auto& group : optimizer.param_groups()) {
    for (const at::Tensor& parameter : group.params()) {
      if (parameter.grad().defined() && is_one(parameter.grad())) return true;
    }
  }
  return false;
}

}  // namespace

bool has_gradients(const torch::optim::Optimizer& optimizer) {
  return any_gradient(optimizer, [](const at::Tensor&) { return true; });
}

bool has_half_gradients(const torch::optim::Optimizer& optimizer) {
  return any_gradient(optimizer, [](const at::Tensor& gradient) { return gradient.scalar_type() == at::kHalf; });
}

void unscale_gradients(torch::optim::Optimizer& optimizer, const at::Tensor& inverse_scale, at::Tensor& found_inf) {
  std::map<std::pair<std::string, at::ScalarType>, std::vector<at::Tensor>> batches;  // one call of the kernel each
  std::unordered_set<const at::TensorImpl*> seen;  // an optimizer may have a parameter of several names several times
  for (const auto& group : optimizer.param_groups()) {
    for (const at::Tensor& parameter : group.params()) {
      if (!parameter.grad().defined() || !seen.insert(parameter.unsafeGetTensorImpl()).second) continue;
      const at::Tensor values = values_of(parameter);
      batches[{values.device().str(), values.scalar_type()}].push_back(values);
    }
  }
  for (auto& [kind, values] : batches) {
    const at::Device device = values.front().device();
    if (device == found_inf.device()) {
      at::_amp_foreach_non_finite_check_and_unscale_(values, found_inf, inverse_scale);
      continue;
    }
    at::Tensor found_there = at::zeros_like(found_inf, found_inf.options().device(device));
    at::_amp_foreach_non_finite_check_and_unscale_(values, found_there,
                                                   inverse_scale.to(device, /*non_blocking=*/true));
    at::maximum_out(found_inf, found_inf, found_there.to(found_inf.device(), /*non_blocking=*/true));
  }
}

}  // namespace lockstep::amp
