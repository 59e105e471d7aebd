#include "check_options.h"

#include <cmath>

#include <fmt/format.h>

#include <lockstep/base/errors.h>

namespace lockstep::optim {

void check_at_least_zero(std::string_view option, double value) {
  if (std::isfinite(value) && value >= 0) return;
  throw UsageError({.message = fmt::format("the optimizer's option '{}' does not fit", option),
                    .found = fmt::format("{}", value),
                    .expected = "0 or more"});
}

void check_betas(const std::tuple<double, double>& betas) {
  const auto [first, second] = betas;
  if (first >= 0 && first < 1 && second >= 0 && second < 1) return;
  throw UsageError({.message = "the optimizer's option 'betas' does not fit",
                    .found = fmt::format("{}, {}", first, second),
                    .expected = "two numbers from 0 to 1, without 1"});
}

void check_nesterov(bool nesterov, double momentum, double dampening) {
  if (!nesterov || (momentum > 0 && dampening == 0)) return;
  throw UsageError({.message = "the optimizer's option 'nesterov' does not fit the others",
                    .found = fmt::format("momentum {}, dampening {}", momentum, dampening),
                    .expected = "a momentum, and no dampening"});
}

}  // namespace lockstep::optim
