// What the rate of a run will be, without the run: to look at a schedule before it is used.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <lockstep/optim/learning_rate.h>

namespace lockstep::optim {

struct TraceOptions {
  std::optional<std::int64_t> epochs = {}, steps = {};  // how far: one of them, or neither: to the schedule's end
  std::int64_t steps_per_epoch = 0;                     // above 0: the rate of each step, in fractions of epochs
  std::vector<double> metrics = {};  // of each epoch, for a plateau; none: a metric that never improves
};

struct RatePoint {
  Position position;
  double rate = 0;
};

struct Trace {
  Clock clock = Clock::kEpochs;
  std::vector<RatePoint> points;

  // What the schedule's time is at a point.
  double time_of(const RatePoint& point) const;
};

// `options.clock` is chosen by what `trace_options` counts. Throws UsageError when the schedule has no end and none is
// given, when the run is too long to be looked at, and for metrics that nothing looks at, or too few of them.
Trace trace_schedule(const Schedule& schedule, LearningRateOptions options, const TraceOptions& trace_options);

// The points to show where all would be too many: every change of the rate, if there are at most `most` of them, or
// else points at round distances. The first and the last are among them.
std::vector<RatePoint> points_to_show(const Trace& trace, std::size_t most);

struct PlotOptions {
  int width = 80;       // of the whole, in characters
  int height = 13;      // of the curve
  bool unicode = true;  // with Braille dots; else with asterisks
};

// The curve, from 0 up, with its axes. Each line is ended.
std::string plot(const Trace& trace, const PlotOptions& options = {});

}  // namespace lockstep::optim
