#include <lockstep/train/schedule_of.h>

#include <algorithm>

#include <lockstep/optim/make_schedule.h>

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

}  // namespace lockstep::train
