#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>
#include <lockstep/optim/schedule_trace.h>

namespace lockstep::optim {
namespace {

constexpr std::int64_t kMostPoints = 10'000'000;

Clock clock_of(const TraceOptions& options) {
  if (options.steps) return Clock::kSteps;
  return options.steps_per_epoch > 0 ? Clock::kEpochFractions : Clock::kEpochs;
}

void require_metrics(const Schedule& schedule, const TraceOptions& options) {
  if (!schedule.plateau()) {
    if (!options.metrics.empty()) throw UsageError("this schedule looks at no metric; only plateau does");
    return;
  }
  if (options.steps) {
    throw UsageError({.message = "a plateau looks at a metric once an epoch", .next = "give --epochs, not --steps"});
  }
}

// In epochs, or in steps.
std::int64_t extent_of(const Schedule& schedule, const TraceOptions& options) {
  if (options.epochs && options.steps) throw UsageError("epochs and steps are one too many; give one of them");
  const auto given = options.epochs ? options.epochs : options.steps;
  std::int64_t extent = given.value_or(0);
  if (!given && !options.metrics.empty())
    extent = std::ssize(options.metrics);
  else if (!given && schedule.length())
    extent = std::llround(std::ceil(std::min(*schedule.length(), 1e9)));
  else if (!given) {
    throw UsageError({.message = "this schedule never ends", .next = "say how far to look: --epochs N, or --steps N"});
  }
  if (extent < 1) throw UsageError(fmt::format("a run of {} has no learning rate to show", extent));
  if (!options.metrics.empty() && std::cmp_less(options.metrics.size(), extent)) {
    throw UsageError({.message = "there are fewer metrics than epochs",
                      .found = format_plural(std::ssize(options.metrics), "metric"),
                      .expected = format_plural(extent, "epoch")});
  }
  return extent;
}

}  // namespace

double Trace::time_of(const RatePoint& point) const {
  return clock == Clock::kSteps ? static_cast<double>(point.position.step) : point.position.epoch;
}

Trace trace_schedule(const Schedule& schedule, LearningRateOptions options, const TraceOptions& trace_options) {
  require_metrics(schedule, trace_options);
  const std::int64_t extent = extent_of(schedule, trace_options);
  const std::int64_t per_epoch = std::max<std::int64_t>(trace_options.steps_per_epoch, 1);
  if (extent > kMostPoints / per_epoch) {
    throw UsageError({.message = "this run is too long to be looked at step by step",
                      .expected = fmt::format("at most {} points", format_count(kMostPoints))});
  }
  options.clock = clock_of(trace_options);
  Trace trace{.clock = options.clock, .points = {}};
  LearningRate learning_rate(schedule, options);
  for (std::int64_t step = 0; step < extent * per_epoch; ++step) {
    learning_rate.move_to({.step = step, .epoch = static_cast<double>(step) / static_cast<double>(per_epoch)});
    trace.points.push_back({learning_rate.position(), learning_rate.rate()});
    if ((step + 1) % per_epoch == 0) {
      const auto epoch = static_cast<std::size_t>(step / per_epoch);
      learning_rate.observe(trace_options.metrics.empty() ? 1 : trace_options.metrics[epoch]);
    }
  }
  return trace;
}

std::vector<RatePoint> points_to_show(const Trace& trace, std::size_t most) {
  const auto& points = trace.points;
  std::vector<RatePoint> changes;
  for (std::size_t i = 0; i < points.size() && changes.size() <= most; ++i) {
    const bool changed = i == 0 || points[i].rate != points[i - 1].rate;
    if (changed || i + 1 == points.size()) changes.push_back(points[i]);
  }
  if (changes.size() <= most) return changes;
  // 1, 2, 5, 10, 20, 50 ...: as few as leave no more than `most`, the last included.
  std::size_t distance = 1, decade = 1;
  while ((points.size() - 2) / distance + 2 > std::max<std::size_t>(most, 2) && distance < points.size()) {
    distance = distance == decade ? 2 * decade : distance == 2 * decade ? 5 * decade : 10 * decade;
    if (distance == 10 * decade) decade = distance;
  }
  std::vector<RatePoint> spaced;
  for (std::size_t i = 0; i + 1 < points.size(); i += distance) spaced.push_back(points[i]);
  spaced.push_back(points.back());
  return spaced;
}

}  // namespace lockstep::optim
