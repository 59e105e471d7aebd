#pragma once
#include <filesystem>

#include <lockstep/train/callback.h>

namespace lockstep::train {

// RUN/machine.json when a run begins, and RUN/report.html when it ends. Of rank 0. What goes wrong is logged: a page
// that is missing ends no training.
class RunReport final : public Callback {
 public:
  explicit RunReport(std::filesystem::path run);

  void on_end(const TrainingResult& result) override;

 private:
  std::filesystem::path run_;
};

// The same page for a run that an error has ended, if it has metrics by then.
void report_failed_run(const std::filesystem::path& run);

}  // namespace lockstep::train
