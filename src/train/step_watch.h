#pragma once
#include <chrono>
#include <cstdint>

#include <lockstep/comm/group.h>
#include <lockstep/train/training_step.h>

#include "metric_sums.h"
#include "step_times.h"

namespace lockstep::train {

// Ranks compare notes every so often: what their steps gave, how long they took, whether anyone wants to stop. On a GPU
// that waits for the device, so it is done a few times a second and not after each step.
class StepWatch {
 public:
  using Clock = std::chrono::steady_clock;

  StepWatch(TrainingStep& step, Group group, std::vector<std::int64_t> top, std::int64_t log_every);

  void begin_epoch(std::int64_t step, std::int64_t steps_of_epoch);

  // Of the time that goes by: what was spent waiting for data, and what is not to be counted.
  void count_wait(Seconds time) { waited_ += time; }
  void leave_out(Clock::duration time) { looked_at_ += time; }

  // Whether it is time to compare, after so many steps of the run.
  bool is_time(std::int64_t step) const { return step >= next_; }

  // Collective. What this rank's steps added up to since the last call. Throws RuntimeError on all ranks when the loss
  // of one is not finite.
  MetricSums take_sums(std::int64_t step);

  // Collective, after take_sums(): the same on every rank. Nothing where there was no step since the last time.
  struct Notes {
    Seconds each;  // of a step
    bool stop;     // some rank wants to
  };
  std::optional<Notes> compare(std::int64_t step, bool wants_stop);

  // Of all ranks, since the last report that was due.
  Metrics recent() const;
  bool is_due(std::int64_t step) const { return step % log_every_ == 0; }
  void begin_report() {
    recent_ = MetricSums(recent_.top);
    recent_times_ = {};
  }

  // Of this rank, without the first steps of the process, unless there were no others.
  const StepTimes& epoch_times() const { return epoch_times_.steps > 0 ? epoch_times_ : start_up_times_; }
  const StepTimes& all_times() const { return all_times_.steps > 0 ? all_times_ : start_up_times_; }

 private:
  TrainingStep& step_;
  Group group_;
  std::int64_t log_every_;
  std::int64_t start_up_ = 0;  // steps of the process that do not count
  std::int64_t process_steps_ = 0;
  std::int64_t next_ = 0;
  Clock::time_point looked_at_;
  Seconds waited_{}, exposed_before_{};  // since the last time; at it
  MetricSums fresh_, recent_;            // of all ranks: since the last comparison; since the last report that was due
  StepTimes recent_times_;               // on average over ranks, likewise
  StepTimes start_up_times_, epoch_times_, all_times_;
};

}  // namespace lockstep::train
