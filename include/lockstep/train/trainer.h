// Epoch after epoch of training, evaluated, checkpointed and resumable, with a model and data of your own.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <lockstep/comm/group.h>
#include <lockstep/data/batch_source.h>
#include <lockstep/nn/model.h>
#include <lockstep/optim/exponential_moving_average.h>
#include <lockstep/optim/learning_rate.h>
#include <lockstep/trace/timeline.h>
#include <lockstep/train/callback.h>
#include <lockstep/train/checkpoint_options.h>
#include <lockstep/train/metrics.h>
#include <lockstep/train/picture_views.h>
#include <lockstep/train/training_step.h>

namespace lockstep::train {

// When to stop before the end. Metrics are named "test.top1", "train.loss".
struct EarlyStop {
  std::optional<double> accuracy;  // of the test's top1, as a part of 1
  std::int64_t patience = 0;       // evaluations in a row without a better `metric`; 0: never
  std::string metric = "test.loss";
};

struct TrainerOptions {
  TrainingStepOptions step;
  std::int64_t epochs = 1;           // 0: as many as `steps` take
  std::int64_t steps = 0;            // above 0: the run ends after so many
  std::int64_t steps_per_epoch = 0;  // above 0: an epoch ends after so many
  optim::Schedule schedule = optim::constant();
  optim::LearningRateOptions rate;
  std::string schedule_metric = "test.loss";  // what a plateau looks at
  TrainingStepOptions::Loss test_loss;        // empty: the step's, or cross entropy in float64
  std::optional<optim::ExponentialMovingAverageOptions> average;
  bool evaluate_average = true;
  PictureViews test_views = {};       // a picture counts by the mean of the outputs for them
  bool count_confusion = false;       // evaluations count which class was taken for which
  bool broadcast_each_epoch = false;  // parameters and buffers, from rank 0
  std::int64_t evaluate_every = 1;    // epochs; 0: after the last alone
  std::int64_t log_every = 20;        // steps
  CheckpointOptions checkpoint;
  EarlyStop stop;
  std::int64_t profiled_epoch = 0;  // from 1: a range PROFILE for profilers goes round it; 0: none
  // A timeline of these steps of all ranks, written to trace_file by rank 0.
  std::optional<trace::StepWindow> traced_steps;
  std::filesystem::path trace_file;
  // Of what the model draws (dropout), each rank its own stream. Nothing: torch's generators go on as they are.
  std::optional<std::uint64_t> seed;
};

// Trains a model on the ranks of a group. Every rank makes it, with the same options, and calls the same functions.
//
//   Trainer trainer(model, train, &test, world, {.epochs = 10, .checkpoint = {.folder = "mine/checkpoints"}});
//   const TrainingResult result = trainer.train();
//
// Numbers are those of all ranks. A loss that is not finite ends training with a RuntimeError that names the step, the
// ranks and a tensor. The schedule sets the rate of every group of parameters, in place of what the optimizer had.
class Trainer {
 public:
  // Collective. The sources outlive it; without `test` nothing is evaluated. Where options.step.loss is left to its
  // default, cross entropy, and count_top is empty, that becomes {1, 5}. Makes the folder of checkpoints. Throws
  // UsageError for options that do not fit together, RuntimeError for a folder that cannot be written to; on all ranks.
  Trainer(std::shared_ptr<nn::Model> model, data::BatchSource& train, data::BatchSource* test, const Group& group,
          const TrainerOptions& options);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  void add(std::shared_ptr<Callback> callback);

  // Collective. All epochs that are left, with evaluation, checkpoints and early stop.
  TrainingResult train();

  // Collective. Its parts, for loops of your own: the rest of the epoch that training stands in, or the next one; and
  // the test set once. After a request to stop an epoch ends early: ask stopped(), and go on where it ended, or do not.
  Metrics train_one_epoch();
  bool stopped() const;
  Metrics validate_one_epoch();

  // Collective. Writes all that is needed to go on from here, in the background unless the options say otherwise.
  // Returns the folder.
  std::filesystem::path save_checkpoint();

  // Collective. Goes on where the checkpoint was written: bit by bit with as many ranks, and with the same samples in
  // the same order with another number of them. Throws UsageError for a checkpoint that is damaged, or of another model
  // or optimizer.
  void restore_checkpoint(const std::filesystem::path& folder);

  // From any thread, or a signal handler, of any rank: training ends after one of the next steps, on all ranks at the
  // same, with a checkpoint.
  void request_stop() noexcept;

  std::int64_t step() const;   // that were done in all
  std::int64_t epoch() const;  // whole ones
  TrainingStep& training_step();

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace lockstep::train
