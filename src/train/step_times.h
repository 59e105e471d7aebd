#pragma once
#include <chrono>
#include <cstdint>
#include <optional>

#include <lockstep/comm/group.h>
#include <lockstep/train/metrics.h>

namespace lockstep::train {

using Seconds = std::chrono::duration<double>;

// Time of steps on one rank, and what of it went by waiting.
struct StepTimes {
  Seconds total{}, data{};
  std::optional<Seconds> communication = {};
  std::int64_t steps = 0;
  double samples = 0;  // of all ranks

  void add(const StepTimes& other) {
    total += other.total;
    data += other.data;
    if (other.communication) communication = communication.value_or(Seconds{}) + *other.communication;
    steps += other.steps;
    samples += other.samples;
  }

  // Collective. The average of all ranks.
  StepTimes over(const Group& group) const;

  double samples_per_second() const { return total.count() > 0 ? samples / total.count() : 0; }
  TimeSplit split() const;
};

}  // namespace lockstep::train
