#include <lockstep/bench/step.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include <lockstep/base/errors.h>
#include <lockstep/gpu/work_stream.h>
#include <lockstep/trace/recorder.h>

#include "warm_trainee.h"

namespace lockstep::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRecordedSteps = 5;  // operation by operation

// Where the time of a trainee's turns goes.
class StepClock {
 public:
  // A turn.
  class Running {
   public:
    Running(StepClock& clock, const Trainee& trainee)
        : clock_(clock),
          trainee_(trainee),
          began_(Clock::now()),
          waited_(trainee.waited()),
          exposed_(trainee.exposed()) {}
    ~Running() {
      clock_.total_ += Clock::now() - began_;
      clock_.data_ += trainee_.waited() - waited_;
      if (exposed_) clock_.communication_ += trainee_.exposed().value_or(*exposed_) - *exposed_;
      clock_.knows_communication_ = exposed_.has_value();
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    StepClock& clock_;
    const Trainee& trainee_;
    const Clock::time_point began_;
    const Seconds waited_;
    const std::optional<Seconds> exposed_;
  };

  StepSplit split() const {
    StepSplit split{.data = data_ / total_};
    if (knows_communication_) split.communication = communication_ / total_;
    split.compute = 1 - split.data - split.communication.value_or(0);
    return split;
  }

 private:
  Seconds total_{}, data_{}, communication_{};
  bool knows_communication_ = false;
};

// The parts of a step, in so many of them. On a GPU, parts are as long as the device takes.
trace::Anatomy look_at_parts(Trainee& trainee, const Group& group, const at::Device& device, std::int64_t steps) {
  trace::RecorderOptions options;
  if (device.is_cuda()) options.settle = [device] { gpu::finish(device); };
  group.barrier();
  trace::start_recording(options);
  for (std::int64_t i = 0; i < steps; ++i) trainee.step();
  return trace::anatomy_of(trace::stop_recording());
}

struct Spread {
  double median, least, greatest;
};

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values.front(), values.back()};
}

}  // namespace

StepRange parse_step_range(const std::string& text) {
  StepRange range;
  const char* end = text.data() + text.size();
  const auto [colon, error] = std::from_chars(text.data(), end, range.first);
  if (error == std::errc{} && colon != end && *colon == ':') {
    const auto [stop, wrong] = std::from_chars(colon + 1, end, range.count);
    if (wrong == std::errc{} && stop == end && range.first >= 0 && range.count > 0) return range;
  }
  throw UsageError({.message = "the steps to profile are not understood",
                    .found = text,
                    .expected = "FIRST:COUNT, such as 20:5 for five steps from the twenty-first on"});
}

std::vector<StepRow> measure_step(const Group& group, const StepOptions& options) {
  const RecipeGuard recipe(options.recipe);
  std::vector<std::unique_ptr<Trainee>> trainees;
  std::vector<std::int64_t> steps;
  for (const train::Mode mode : options.modes) {
    trainees.push_back(make_warm(mode, group, options, trainees));
    const double estimate = time_steps(*trainees.back(), group, options.device, 1);
    steps.push_back(std::max<std::int64_t>(1, std::llround(options.time_per_round.count() / estimate)));
  }
  std::vector<std::vector<double>> seconds(trainees.size());
  std::vector<StepClock> clocks(trainees.size());
  for (int round = 0; round < options.rounds; ++round) {
    std::optional<gpu::ProfiledPart> profiled;
    if (options.profile && round + 1 == options.rounds) profiled.emplace(options.device);
    for (std::size_t i = 0; i < trainees.size(); ++i) {
      const StepClock::Running running(clocks[i], *trainees[i]);
      seconds[i].push_back(time_steps(*trainees[i], group, options.device, steps[i]));
    }
  }
  const auto timeline = trainees.front()->finish_trace();
  std::optional<trace::Anatomy> anatomy;
  if (options.anatomy) {
    constexpr std::int64_t kLeast = 5, kMost = 50;
    anatomy = look_at_parts(*trainees.back(), group, options.device, std::clamp(steps.back(), kLeast, kMost));
  }
  std::optional<Operations> operations;
  if (options.operations) {
    group.barrier();
    operations = record_operations([&] { trainees.back()->step(); }, kRecordedSteps);
  }
  std::vector<StepRow> rows;
  for (std::size_t i = 0; i < trainees.size(); ++i) {
    std::vector<double> kept;
    for (std::size_t round = 0; round < seconds[i].size(); ++round)
      kept.push_back(seconds[0][round] / seconds[i][round]);
    const Spread time = spread_of(seconds[i]), ratio = spread_of(kept);
    const double samples = static_cast<double>(options.batch) * group.size();
    rows.push_back({.mode = options.modes[i],
                    .samples_per_second = samples / time.median,
                    .least = samples / time.greatest,
                    .greatest = samples / time.least,
                    .milliseconds = time.median * 1e3,
                    .kept = ratio.median,
                    .kept_least = ratio.least,
                    .kept_greatest = ratio.greatest,
                    .hidden = trainees[i]->hidden(),
                    .split = clocks[i].split()});
  }
  rows.front().trace = timeline;
  rows.back().anatomy = anatomy;
  rows.back().operations = std::move(operations);
  return rows;
}

}  // namespace lockstep::bench
