#pragma once
#include <filesystem>
#include <string>

#include <lockstep/base/fd.h>
#include <lockstep/train/callback.h>

namespace lockstep::train {

// RUN/metrics.jsonl: one object a line, as docs/training.md lists them. A line is written at once and whole.
class MetricsFile final : public Callback {
 public:
  // Keeps the lines up to `step` of what is there: later ones are from a run that was cut short, and come again.
  MetricsFile(std::filesystem::path path, std::int64_t step, int ranks);

  void on_steps(const StepReport& report) override;
  void on_epoch(const EpochReport& report) override;

 private:
  void write(const std::string& line);

  std::filesystem::path path_;
  int ranks_;
  UniqueFd file_;
  bool is_failing_ = false;
};

}  // namespace lockstep::train
