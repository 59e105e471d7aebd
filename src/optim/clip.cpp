#include <lockstep/optim/clip.h>

#include <cmath>
#include <string_view>
#include <unordered_set>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_foreach_clamp_max.h>
#include <ATen/ops/_foreach_clamp_min.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>

#include <lockstep/base/errors.h>

#include "tensor_batches.h"

namespace lockstep::optim {
namespace {

void require_positive(std::string_view function, std::string_view argument, double value) {
  if (value > 0) return;
  throw UsageError({.message = fmt::format("{}: '{}' does not fit", function, argument),
                    .found = fmt::format("{}", value),
                    .expected = "more than 0"});
}

// Each once, though module.parameters() has a tensor of several names several times.
std::vector<at::Tensor> gradients_of(std::string_view function, const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> gradients;
  std::unordered_set<const at::TensorImpl*> seen;
  for (const at::Tensor& parameter : parameters) {
    if (!parameter.grad().defined() || !seen.insert(parameter.unsafeGetTensorImpl()).second) continue;
    if (parameter.grad().is_sparse()) {
      throw UsageError({.message = fmt::format("{}: a sparse gradient cannot be looked at", function),
                        .next = "leave its parameter out, or make the embedding's gradient dense"});
    }
    gradients.push_back(parameter.grad().detach());
  }
  return gradients;
}

bool has_16_bits(at::ScalarType type) {
  return type == at::kHalf || type == at::kBFloat16;
}

// All of one device and type. A factor in bf16 would be off by up to 0.2 %, and the norm above what was asked for. So
// 16-bit gradients go through the kernel that unscales gradients: it takes a factor in float32, and many in a launch.
void multiply(const std::vector<at::Tensor>& gradients, const at::Tensor& factor) {
  const at::Device device = gradients.front().device();
  const auto type = gradients.front().scalar_type();
  if (!has_16_bits(type)) return at::_foreach_mul_(gradients, moved(factor, device, type));
  const at::Tensor wide = moved(factor, device, at::kFloat);
  at::Tensor found_inf = at::zeros_like(wide);  // not asked for here
  at::_amp_foreach_non_finite_check_and_unscale_(gradients, found_inf, wide);
}

using GradientBatches = std::vector<std::vector<at::Tensor>>;

GradientBatches batches_of(const std::vector<at::Tensor>& gradients) {
  GradientBatches batches;
  for (const auto& indices : by_device_and_type(gradients)) batches.push_back(pick(gradients, indices));
  return batches;
}

at::Tensor norm_of(const GradientBatches& batches, double norm_type) {
  const at::Device device = batches.front().front().device();
  std::vector<at::Tensor> norms;
  for (const auto& batch : batches) {
    const auto type = c10::toRealValueType(batch.front().scalar_type());
    // 16-bit sums overflow, or stop growing, soon.
    const auto sums = has_16_bits(type) ? at::kFloat : type;
    const at::Tensor norm = at::linalg_vector_norm(at::stack(at::_foreach_norm(batch, norm_type, sums)), norm_type);
    norms.push_back(moved(norm, device, sums));
  }
  return norms.size() == 1 ? norms.front() : at::linalg_vector_norm(at::stack(norms), norm_type);
}

}  // namespace

at::Tensor gradient_norm(const std::vector<at::Tensor>& parameters, double norm_type) {
  constexpr const char* kWho = "gradient_norm";
  require_positive(kWho, "norm_type", norm_type);
  const at::NoGradGuard no_gradients;
  const auto gradients = gradients_of(kWho, parameters);
  return gradients.empty() ? at::zeros({}) : norm_of(batches_of(gradients), norm_type);
}

at::Tensor clip_grad_norm(const std::vector<at::Tensor>& parameters, double max_norm, const ClipNormOptions& options) {
  constexpr const char* kWho = "clip_grad_norm";
  require_positive(kWho, "max_norm", max_norm);
  require_positive(kWho, "norm_type", options.norm_type);
  const at::NoGradGuard no_gradients;
  const auto gradients = gradients_of(kWho, parameters);
  if (gradients.empty()) return at::zeros({});
  const GradientBatches batches = batches_of(gradients);
  const at::Tensor total = norm_of(batches, options.norm_type);
  if (options.error_if_nonfinite && !std::isfinite(total.item<double>())) {
    throw RuntimeError({.message = "the norm of the gradients is not finite",
                        .found = fmt::format("{}", total.item<double>()),
                        .next = "lower the learning rate, or look for the first layer with such a gradient"});
  }
  const at::Tensor factor = (total + 1e-6).reciprocal_().mul_(max_norm).clamp_max_(1.0);
  for (const auto& batch : batches) multiply(batch, factor);
  return total;
}

void clip_grad_value(const std::vector<at::Tensor>& parameters, double clip_value) {
  constexpr const char* kWho = "clip_grad_value";
  require_positive(kWho, "clip_value", clip_value);
  const at::NoGradGuard no_gradients;
  const auto gradients = gradients_of(kWho, parameters);
  for (const auto& indices : by_device_and_type(gradients)) {
    const auto batch = pick(gradients, indices);
    at::_foreach_clamp_min_(batch, -clip_value);
    at::_foreach_clamp_max_(batch, clip_value);
  }
}

}  // namespace lockstep::optim
