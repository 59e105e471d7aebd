// What a program can have done while a Trainer trains.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>

#include <lockstep/train/metrics.h>

namespace lockstep::train {

// The last few steps.
struct StepReport {
  std::int64_t step = 0;   // of the run, from 1
  std::int64_t epoch = 0;  // from 1
  std::int64_t step_of_epoch = 0, steps_of_epoch = 0;
  Metrics recent;  // of the steps since the last report that was due
  double learning_rate = 0;
  double seconds_left = 0;  // of training, at this rate
  bool is_due = false;      // a multiple of TrainerOptions::log_every; others come for the progress line
};

struct EpochReport {
  std::int64_t step = 0;
  std::int64_t epoch = 0;  // from 1
  Metrics train;
  std::optional<Metrics> test;
  double learning_rate = 0;  // of its last step
  bool is_best = false;      // by the metric that checkpoints are kept for
};

enum class Outcome {
  kFinished,       // all epochs or steps
  kTargetReached,  // the accuracy that was asked for
  kNoProgress,     // patience is at its end
  kInterrupted,    // by request_stop(), with a checkpoint where these are written
};

struct TrainingResult {
  Outcome outcome = Outcome::kFinished;
  std::int64_t steps = 0;                           // of the run
  std::int64_t epochs = 0;                          // whole ones
  std::optional<EpochReport> last, best;            // of this process
  std::optional<std::filesystem::path> checkpoint;  // the last that was written and is there
  double training_seconds = 0;                      // of this process: without start-up, evaluation and checkpoints
};

// Each rank has its own, called in the order in which they were added, with the same reports on every rank. An error
// that escapes ends training.
class Callback {
 public:
  virtual ~Callback() = default;
  virtual void on_epoch_begin(std::int64_t /*epoch*/, std::int64_t /*steps*/) {}
  virtual void on_steps(const StepReport& /*report*/) {}
  virtual void on_epoch(const EpochReport& /*report*/) {}
  virtual void on_checkpoint(const std::filesystem::path& /*folder*/) {}  // before it is written; of rank 0
  virtual void on_end(const TrainingResult& /*result*/) {}
};

}  // namespace lockstep::train
