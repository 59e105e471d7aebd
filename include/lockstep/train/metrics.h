// What training and evaluation are judged by.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::train {

// Where the time of steps goes, as parts of 1, on average over the ranks.
struct TimeSplit {
  double data = 0;                      // waiting for batches
  std::optional<double> communication;  // waiting for other ranks; nothing where that is not known, as on GPUs
  double compute = 0;                   // all else
};

// Averages over all samples of all ranks; the same on every rank.
struct Metrics {
  double loss = 0;
  std::map<std::string, double> accuracy;  // "top1", "top5": parts of 1
  std::int64_t samples = 0;
  std::int64_t steps = 0;
  std::optional<double> gradient_norm;  // the mean over the steps of this process, where it is measured
  // Of an evaluation that counts them: how often each class (a row) was taken for each (a column).
  std::vector<std::int64_t> confusion;

  // Of training: without start-up (the first steps of a process), evaluation and checkpoints.
  double samples_per_second = 0;
  TimeSplit split;
  double seconds = 0;  // all of it, by the clock
};

// "loss", or a name in `accuracy`; nothing for another.
std::optional<double> find_metric(const Metrics& metrics, const std::string& name);

// Whether more of it is better.
inline bool larger_is_better(const std::string& metric) {
  return !metric.ends_with("loss");
}

}  // namespace lockstep::train
