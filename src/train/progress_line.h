#pragma once
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/base/progress.h>
#include <lockstep/train/callback.h>

namespace lockstep::train {

// What people see of training: a line that moves, a line or two for each epoch, and a table at the end.
class ProgressLine final : public Callback {
 public:
  ProgressLine(std::int64_t epochs, std::filesystem::path run) : epochs_(epochs), run_(std::move(run)) {}

  void on_epoch_begin(std::int64_t epoch, std::int64_t steps) override;
  void on_steps(const StepReport& report) override;
  void on_epoch(const EpochReport& report) override;
  void on_end(const TrainingResult& result) override;

 private:
  std::int64_t epochs_;
  std::filesystem::path run_;
  std::optional<Progress> line_;
};

// "loss 0.171  top1 93.20%  top5 99.85%"
std::string describe(const Metrics& metrics);

}  // namespace lockstep::train
