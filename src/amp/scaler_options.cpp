#include "scaler_options.h"

#include <cmath>

#include <fmt/format.h>

#include <lockstep/base/errors.h>

namespace lockstep::amp {
namespace {

void require(bool sane, const char* option, double found, const char* expected) {
  if (sane) return;
  throw UsageError({.message = fmt::format("GradScaler: {} makes no sense", option),
                    .found = fmt::format("{}", found),
                    .expected = expected});
}

}  // namespace

void check(const GradScalerOptions& options) {
  check_scale("initial_scale", options.initial_scale);
  if (!options.dynamic) return;
  require(std::isfinite(options.growth_factor) && options.growth_factor > 1, "growth_factor", options.growth_factor,
          "above 1");
  require(options.backoff_factor > 0 && options.backoff_factor < 1, "backoff_factor", options.backoff_factor,
          "between 0 and 1");
  require(options.growth_interval > 0, "growth_interval", static_cast<double>(options.growth_interval), "1 or more");
}

void check_scale(const char* option, double scale) {
  require(std::isfinite(scale) && scale > 0, option, scale, "a number above 0");
}

GradScalerOptions scaler_options(const Precision& precision, const MasterWeights& weights,
                                 const std::optional<Group>& group) {
  using Kind = LossScale::Kind;
  return {.initial_scale = precision.loss_scale.value,
          .dynamic = precision.loss_scale.kind == Kind::kDynamic,
          .enabled = precision.loss_scale.kind != Kind::kNone,
          .half_gradients = precision.model == at::kHalf && !precision.master_weights,
          .master_weights = weights,
          .group = group};
}

}  // namespace lockstep::amp
