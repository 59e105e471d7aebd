#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/optim/schedule.h>

namespace lockstep::optim {
namespace {

// NaN fails too.
void require(bool fits, const char* shape, const char* option, double found, const char* expected) {
  if (fits) return;
  throw UsageError({.message = fmt::format("the {} of the schedule {} makes no sense", option, shape),
                    .found = fmt::format("{}", found),
                    .expected = expected});
}

bool is_positive(double value) {
  return value > 0 && std::isfinite(value);
}

void require_length(const char* shape, double length) {
  require(is_positive(length), shape, "length", length, "a number above 0");
}

void require_factor(const char* shape, double factor) {
  require(is_positive(factor), shape, "factor", factor, "a number above 0");
}

void require_minimum(const char* shape, double minimum) {
  require(minimum >= 0 && std::isfinite(minimum), shape, "minimum", minimum, "a rate from 0 up");
}

// From one rate to another while `part` goes from 0 to 1.
double along_cosine(double from, double to, double part) {
  return to + (from - to) * (1 + std::cos(std::numbers::pi * part)) / 2;
}

double along_line(double from, double to, double part) {
  return from + (to - from) * part;
}

}  // namespace

Schedule constant(const ConstantOptions& options) {
  require_factor("constant", options.factor);
  if (options.length) require_length("constant", *options.length);
  return Schedule([factor = options.factor](double, const RateContext& context) { return context.base * factor; },
                  options.length);
}

Schedule step(const StepOptions& options) {
  require(is_positive(options.every), "step", "interval", options.every, "a number above 0");
  require_factor("step", options.factor);
  return Schedule([options](double time, const RateContext& context) {
    return context.base * std::pow(options.factor, std::floor(time / options.every));
  });
}

Schedule multi_step(const MultiStepOptions& options) {
  require_factor("multi_step", options.factor);
  for (const double milestone : options.milestones) {
    require(milestone >= 0, "multi_step", "milestone", milestone, "a number from 0 up");
  }
  return Schedule([options](double time, const RateContext& context) {
    const auto passed = std::count_if(options.milestones.begin(), options.milestones.end(),
                                      [time](double milestone) { return milestone <= time; });
    return context.base * std::pow(options.factor, passed);
  });
}

Schedule exponential(const ExponentialOptions& options) {
  require_factor("exponential", options.factor);
  return Schedule([factor = options.factor](double time, const RateContext& context) {
    return context.base * std::pow(factor, time);
  });
}

Schedule polynomial(const PolynomialOptions& options) {
  require_length("polynomial", options.length);
  require(is_positive(options.power), "polynomial", "power", options.power, "a number above 0");
  return Schedule(
      [options](double time, const RateContext& context) {
        return context.base * std::pow(1 - std::min(time, options.length) / options.length, options.power);
      },
      options.length);
}

Schedule cosine(const CosineOptions& options) {
  require_length("cosine", options.length);
  require_minimum("cosine", options.minimum);
  return Schedule(
      [options](double time, const RateContext& context) {
        return along_cosine(context.base, options.minimum, std::min(time / options.length, 1.0));
      },
      options.length);
}

Schedule cosine_restarts(const CosineRestartsOptions& options) {
  require_length("cosine_restarts", options.length);
  require_minimum("cosine_restarts", options.minimum);
  require(options.growth >= 1 && std::isfinite(options.growth), "cosine_restarts", "growth", options.growth,
          "a number from 1 up");
  return Schedule([options](double time, const RateContext& context) {
    double length = options.length;
    if (options.growth == 1) time = std::fmod(time, length);
    for (; time >= length; length *= options.growth) time -= length;
    return along_cosine(context.base, options.minimum, time / length);
  });
}

Schedule one_cycle(const OneCycleOptions& options) {
  require_length("one_cycle", options.length);
  require(options.rise >= 0 && options.rise <= 1, "one_cycle", "rise", options.rise, "a part, from 0 to 1");
  require(is_positive(options.start_divisor), "one_cycle", "start_divisor", options.start_divisor, "a number above 0");
  require(is_positive(options.end_divisor), "one_cycle", "end_divisor", options.end_divisor, "a number above 0");
  return Schedule(
      [options](double time, const RateContext& context) {
        const auto along = options.linear ? along_line : along_cosine;
        const double top = options.rise * options.length - 1, end = options.length - 1;
        const double start = context.base / options.start_divisor;
        if (time <= top && top > 0) return along(start, context.base, time / top);
        const double part = end > top ? std::min((time - top) / (end - top), 1.0) : 1.0;
        return along(context.base, start / options.end_divisor, part);
      },
      options.length);
}

Schedule plateau(const PlateauOptions& options) {
  require(options.factor > 0 && options.factor < 1, "plateau", "factor", options.factor, "a number between 0 and 1");
  require(options.patience >= 0, "plateau", "patience", options.patience, "a number of epochs from 0 up");
  require(options.cooldown >= 0, "plateau", "cooldown", options.cooldown, "a number of epochs from 0 up");
  require(options.threshold >= 0, "plateau", "threshold", options.threshold, "a number from 0 up");
  require_minimum("plateau", options.minimum);
  Schedule schedule([options](double, const RateContext& context) {
    return reduced_rate(context.base, options, context.reductions);
  });
  schedule.plateau_ = options;
  return schedule;
}

Schedule warm_up(const WarmUpOptions& options) {
  require_length("warmup", options.length);
  if (options.from) {
    require(*options.from >= 0 && *options.from <= 1, "warmup", "from", *options.from, "a part of the rate, 0 to 1");
  }
  return Schedule(
      [options](double time, const RateContext& context) {
        constexpr double kThird = 1.0 / 3;  // LinearLR's
        const double from = options.from.value_or(context.scale > 1 ? 1 / context.scale : kThird);
        return context.base * along_line(from, 1, std::min(time / options.length, 1.0));
      },
      options.length);
}

}  // namespace lockstep::optim
