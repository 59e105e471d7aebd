#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <lockstep/comm/group.h>
#include <lockstep/train/metrics.h>
#include <lockstep/train/training_step.h>

namespace lockstep::train {

// Sums over samples, which ranks and parts of an epoch can add up.
struct MetricSums {
  explicit MetricSums(std::vector<std::int64_t> counted, std::int64_t done = 0)
      : top(std::move(counted)), correct(top.size()), steps(done) {}

  std::vector<std::int64_t> top;
  std::vector<double> correct;  // for each of `top`
  double loss = 0;
  std::int64_t samples = 0;   // below 2^53, as all counts of this world
  std::int64_t steps = 0;     // not added up over ranks, which have equally many
  double gradient_norms = 0;  // the same on all ranks; not in checkpoints
  std::int64_t measured_steps = 0;

  void add(const StepTotals& totals);
  void add(const MetricSums& other);

  // Collective. Those of all ranks.
  MetricSums over(const Group& group) const;

  Metrics averages() const;

  // For checkpoints, as named numbers. load() throws UsageError where one is missing.
  std::map<std::string, double> state() const;
  void load(const std::map<std::string, double>& state);
};

}  // namespace lockstep::train
