#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <lockstep/config/schema.h>
#include <lockstep/tensorboard/summary_writer.h>
#include <lockstep/train/callback.h>
#include <lockstep/train/run_config.h>
#include <lockstep/train/trainer.h>

#include "kept_samples.h"

namespace lockstep::train {

// The run's event files, with what its config asks for. Of rank 0.
class TensorboardLog final : public Callback {
 public:
  struct Run {
    std::filesystem::path folder;
    std::vector<config::Setting> settings;
    std::vector<std::string> classes;  // their names, where the data has some
  };

  // What is given by reference outlives it.
  TensorboardLog(const TensorboardKeys& keys, Run run, Trainer& trainer, const KeptSamples& samples);

  void on_epoch_begin(std::int64_t epoch, std::int64_t steps) override;
  void on_steps(const StepReport& report) override;
  void on_epoch(const EpochReport& report) override;
  void on_end(const TrainingResult& result) override;

 private:
  void add_metrics(const std::string& split, const Metrics& metrics, std::int64_t step);
  void add_graph();
  void add_images(std::int64_t step);
  void add_histograms(std::int64_t step);
  void add_confusion(const Metrics& test, std::int64_t step);
  void add_hparams(const TrainingResult& result);

  TensorboardKeys keys_;
  Run run_;
  Trainer& trainer_;
  const KeptSamples& samples_;
  tensorboard::SummaryWriter writer_;
  bool has_graph_ = false, has_images_ = false;
};

// Whether any of it is asked for.
bool wants_tensorboard(const TensorboardKeys& keys);

}  // namespace lockstep::train
