// Training as a checkpoint holds it.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <lockstep/checkpoint/checkpoint.h>
#include <lockstep/comm/group.h>
#include <lockstep/data/batch_source.h>
#include <lockstep/optim/exponential_moving_average.h>
#include <lockstep/optim/learning_rate.h>
#include <lockstep/train/training_step.h>

#include "metric_sums.h"
#include "snapshot.h"

namespace lockstep::train {

// The best value of a metric so far.
struct Best {
  std::string metric;
  std::optional<double> value = {};
  std::int64_t epoch = 0;  // from 1
  std::int64_t since = 0;  // evaluations without a better one

  // True when it is better than all before. NaN never is.
  bool observe(double value, std::int64_t epoch);
};

// Where training stands, on every rank the same but for `sums`.
struct Standing {
  std::int64_t step = 0;
  std::int64_t epoch = 0;                      // whole ones that are done
  std::int64_t step_of_epoch = 0;              // steps of the one that has begun; 0: it has not
  MetricSums sums;                             // of these, on this rank
  Best kept, patience;                         // for checkpoints and for an early stop
  std::map<std::string, double> metrics = {};  // of the epoch that has just ended: "test.top1"
};

// What has state.
struct Resumable {
  TrainingStep& step;
  optim::ExponentialMovingAverage* average;  // or nullptr
  optim::LearningRate& rate;
  data::BatchSource& source;
  const Group& group;
  at::Device device;
  std::int64_t steps_of_epoch;
};

// Collective. Tensors are not copied.
Snapshot snapshot_of(const Resumable& parts, const Standing& standing);

// Where the checkpoint is of another number of ranks, streams of random numbers are left as they are.
void restore(const Resumable& parts, Standing& standing, const checkpoint::Checkpoint& checkpoint);

}  // namespace lockstep::train
