#include <lockstep/train/schedule_of.h>

#include <algorithm>

#include <lockstep/base/log.h>
#include <lockstep/base/text.h>
#include <lockstep/optim/make_schedule.h>

#include "places.h"

namespace lockstep::train {
namespace {

optim::Clock clock_of(const ScheduleKeys& keys) {
  if (keys.clock == "steps") return optim::Clock::kSteps;
  return keys.clock == "epochs" ? optim::Clock::kEpochs : optim::Clock::kEpochFractions;
}

optim::Schedule warm_up_of(const ScheduleKeys& keys) {
  const bool scaled = optim::parse_scaling(keys.scaling) != optim::Scaling::kNone;
  if (keys.warmup_from || scaled) return optim::warm_up({.length = keys.warmup, .from = keys.warmup_from});
  const double ahead = clock_of(keys) == optim::Clock::kEpochFractions ? 0 : 1;
  return optim::Schedule(
      [length = keys.warmup, ahead](double time, const optim::RateContext& context) {
        return context.base * std::min(1.0, (time + ahead) / length);
      },
      keys.warmup);
}

}  // namespace

optim::Schedule schedule_of(const RunConfig& config) {
  const optim::Schedule rate = optim::parse_schedule(config.schedule.rate);
  return config.schedule.warmup > 0 ? warm_up_of(config.schedule) * rate : rate;
}

optim::LearningRateOptions learning_rate_of(const RunConfig& config, int ranks) {
  return {.rate = config.optimizer.lr,
          .ranks = ranks,
          .scaling = optim::parse_scaling(config.schedule.scaling),
          .clock = clock_of(config.schedule)};
}

void warn_of_rate_of_zero(const RunConfig& config, const std::vector<config::Setting>& settings) {
  const bool counts_steps = clock_of(config.schedule) == optim::Clock::kSteps;
  if (!counts_steps && config.steps > 0) return;  // which may end the run in any epoch
  const std::int64_t end = counts_steps ? config.steps : config.epochs;
  const optim::Schedule schedule = schedule_of(config);
  const double length = schedule.length().value_or(static_cast<double>(end));
  if (length > static_cast<double>(end - 1) || schedule.rate(length, {}) != 0) return;
  log::warning("the learning rate is 0 after {} of {}: {}", length, format_plural(end, counts_steps ? "step" : "epoch"),
               Places(settings).shown("schedule.rate"));
}

}  // namespace lockstep::train
