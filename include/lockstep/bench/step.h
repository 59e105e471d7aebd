// How long a training step takes, on one batch of random numbers again and again, or on pictures.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <lockstep/comm/group.h>
#include <lockstep/nn/model.h>

namespace lockstep::bench {

// Who makes ranks agree: DistributedDataParallel, DistributedOptimizer, DistributedDataParallel with a
// ZeroRedundancyOptimizer, DataParallel (one process, every device), sync_gradients after backward, or nobody.
enum class Mode { kDdp, kOptimizer, kZero, kDataParallel, kSync, kNone };

// UsageError for a name other than ddp, optimizer, zero, data-parallel, sync and none.
Mode parse_mode(const std::string& name);
std::string to_text(Mode mode);

struct StepOptions {
  std::string model = "resnet50";
  nn::ModelOptions model_options = {};
  std::int64_t batch = 32;  // of each rank
  at::Device device = at::kCPU;
  bool channels_last = true;  // where the input has four dimensions
  std::vector<Mode> modes = {Mode::kDdp};
  int rounds = 5;
  std::chrono::duration<double> time_per_round = std::chrono::seconds(2);
  std::string pictures;  // a set that data::open_pictures knows, for models of pictures; empty: random numbers
  int workers = 2;       // that load them
};

// Where the time of the steps went, as parts of it. What communication is hidden behind backward counts as compute.
struct StepSplit {
  double data = 0, compute = 1, communication = 0;
};

struct StepRow {
  Mode mode = Mode::kNone;
  double samples_per_second = 0;                       // of all ranks together, in the median round
  double least = 0, greatest = 0;                      // of the rounds
  double milliseconds = 0;                             // of a step, in the median round
  double kept = 1, kept_least = 1, kept_greatest = 1;  // of the first mode's speed in the same round, and its spread
  std::optional<double> hidden;                        // of the communication, behind backward
  StepSplit split;                                     // of rank 0
};

// Collective. Each mode trains a model of its own with momentum SGD, the modes take turns in every round, so that what
// else the machine does meets all of them alike. Throws UsageError for an unknown model, and for a mode that does not
// fit the group.
std::vector<StepRow> measure_step(const Group& group, const StepOptions& options);

}  // namespace lockstep::bench
