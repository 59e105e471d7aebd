#include <lockstep/optim/plateau.h>

#include <algorithm>
#include <cmath>

namespace lockstep::optim {
namespace {

bool improves(const PlateauOptions& options, double best, double metric) {
  const double margin = options.maximize ? options.threshold : -options.threshold;
  const double bar = options.threshold_is_rate ? best * (1 + margin) : best + margin;
  return options.maximize ? metric > bar : metric < bar;
}

}  // namespace

bool observe(PlateauState& state, const PlateauOptions& options, double metric) {
  // Not a number is never the best, or nothing could improve on it.
  if (!std::isnan(metric) && (!state.best || improves(options, *state.best, metric))) {
    state.best = metric;
    state.bad = 0;
  } else {
    ++state.bad;
  }
  if (state.cooling > 0) {
    --state.cooling;
    state.bad = 0;
  }
  if (state.bad <= options.patience) return false;
  state.cooling = options.cooldown;
  state.bad = 0;
  ++state.reductions;
  return true;
}

double reduced_rate(double base, const PlateauOptions& options, int reductions) {
  constexpr double kLeastChange = 1e-8;  // PyTorch's eps: a smaller one is not made
  for (int i = 0; i < reductions; ++i) {
    const double lower = std::max(base * options.factor, options.minimum);
    if (base - lower <= kLeastChange) break;
    base = lower;
  }
  return base;
}

}  // namespace lockstep::optim
