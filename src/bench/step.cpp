#include <lockstep/bench/step.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

#include "trainee.h"

namespace lockstep::bench {
namespace {

constexpr int kWarmUps = 3;  // buckets are planned anew after the first step

using Clock = std::chrono::steady_clock;

struct Name {
  Mode mode;
  const char* text;
};
constexpr std::array kNames = {Name{Mode::kDdp, "ddp"},   Name{Mode::kOptimizer, "optimizer"},
                               Name{Mode::kZero, "zero"}, Name{Mode::kDataParallel, "data-parallel"},
                               Name{Mode::kSync, "sync"}, Name{Mode::kNone, "none"}};

// Work on a GPU is only queued when a step returns.
void finish_work(const at::Device& device) {
  if (!device.is_cpu()) c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(device.index());
}

// Seconds of a step, the average of all ranks: where nobody waits for another, each goes at its own speed.
double time_steps(Trainee& trainee, const Group& group, const at::Device& device, std::int64_t steps) {
  finish_work(device);
  group.barrier();
  const auto start = Clock::now();
  for (std::int64_t i = 0; i < steps; ++i) trainee.step();
  finish_work(device);
  const std::chrono::duration<double> elapsed = Clock::now() - start;
  return group.all_reduce_value(elapsed.count(), Reduce::kAverage) / static_cast<double>(steps);
}

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
      clock_.communication_ += trainee_.exposed() - exposed_;
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    StepClock& clock_;
    const Trainee& trainee_;
    const Clock::time_point began_;
    const Seconds waited_, exposed_;
  };

  StepSplit split() const {
    const double data = data_ / total_, communication = communication_ / total_;
    return {.data = data, .compute = 1 - data - communication, .communication = communication};
  }

 private:
  Seconds total_{}, data_{}, communication_{};
};

struct Spread {
  double median, least, greatest;
};

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values.front(), values.back()};
}

}  // namespace

Mode parse_mode(const std::string& name) {
  const auto found = std::find_if(kNames.begin(), kNames.end(), [&](const Name& entry) { return name == entry.text; });
  if (found != kNames.end()) return found->mode;
  std::vector<std::string> names;
  for (const Name& entry : kNames) names.emplace_back(entry.text);
  throw UsageError({.message = fmt::format("there is no mode '{}'{}", name, did_you_mean(name, names)),
                    .expected = fmt::format("one of {}", fmt::join(names, ", "))});
}

std::string to_text(Mode mode) {
  return std::find_if(kNames.begin(), kNames.end(), [&](const Name& entry) { return mode == entry.mode; })->text;
}

std::vector<StepRow> measure_step(const Group& group, const StepOptions& options) {
  std::vector<std::unique_ptr<Trainee>> trainees;
  std::vector<std::int64_t> steps;
  for (const Mode mode : options.modes) {
    trainees.push_back(make_trainee(mode, group, options));
    time_steps(*trainees.back(), group, options.device, kWarmUps);
    const double estimate = time_steps(*trainees.back(), group, options.device, 1);
    steps.push_back(std::max<std::int64_t>(1, std::llround(options.time_per_round.count() / estimate)));
  }
  std::vector<std::vector<double>> seconds(trainees.size());
  std::vector<StepClock> clocks(trainees.size());
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < trainees.size(); ++i) {
      const StepClock::Running running(clocks[i], *trainees[i]);
      seconds[i].push_back(time_steps(*trainees[i], group, options.device, steps[i]));
    }
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
  return rows;
}

}  // namespace lockstep::bench
