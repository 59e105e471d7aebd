#pragma once
#include <chrono>
#include <optional>

#include <lockstep/train/trainer.h>

namespace lockstep::train {

// Asks the trainer to stop before a limit of time is reached.
class TimeLimit final : public Callback {
 public:
  using Clock = std::chrono::system_clock;
  TimeLimit(Trainer& trainer, Clock::time_point stop_at) : trainer_(trainer), stop_at_(stop_at) {}
  void on_steps(const StepReport& /*report*/) override {
    if (Clock::now() >= stop_at_) trainer_.request_stop();
  }

 private:
  Trainer& trainer_;
  Clock::time_point stop_at_;
};

// When to stop: `minutes` from now if that is above 0, or the end of the Slurm job that this is, whichever comes first,
// and `margin` before it.
std::optional<TimeLimit::Clock::time_point> time_to_stop(double minutes, std::chrono::duration<double> margin);

}  // namespace lockstep::train
