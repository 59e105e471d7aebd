#include <lockstep/optim/schedule.h>

#include <algorithm>

#include <lockstep/base/errors.h>

namespace lockstep::optim {

Schedule::Schedule(Curve curve, std::optional<double> length) : curve_(std::move(curve)), length_(length) {}

Schedule operator+(const Schedule& first, const Schedule& second) {
  if (!first.length()) {
    throw UsageError({.message = "a schedule that never ends cannot be followed by another",
                      .expected = "one with a length: constant, polynomial, cosine, one_cycle or warmup",
                      .next = "put the endless one last"});
  }
  const double start = *first.length();
  Schedule both([first, second, start](double time, const RateContext& context) {
    return time < start ? first.rate(time, context) : second.rate(time - start, context);
  });
  if (second.length()) both.length_ = start + *second.length();
  both.plateau_ = second.plateau();
  both.plateau_start_ = start + second.plateau_start();
  return both;
}

Schedule operator*(const Schedule& factor, const Schedule& schedule) {
  if (factor.plateau() || !factor.length()) {
    throw UsageError({.message = "only a schedule with an end can be a factor of another",
                      .expected = "such as warmup(5) * step(30)"});
  }
  Schedule both(
      [factor, schedule](double time, const RateContext& context) {
        return factor.rate(time, {.base = 1, .scale = context.scale}) * schedule.rate(time, context);
      },
      schedule.length());
  both.plateau_ = schedule.plateau();
  both.plateau_start_ = std::max(schedule.plateau_start(), *factor.length());
  return both;
}

}  // namespace lockstep::optim
