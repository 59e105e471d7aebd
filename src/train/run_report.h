#pragma once
#include <filesystem>
#include <string>

#include <lockstep/train/callback.h>

namespace lockstep::train {

// What machine.json holds; empty where it cannot be told, which is logged. To find out, libraries of MPI are loaded,
// and some of these take signals for themselves as long as they are there, and end the process by them. So signals wait
// meanwhile: to be called before there are other threads, which they could go to.
std::string describe_machine();

// RUN/machine.json when a run begins, and RUN/report.html when it ends. Of rank 0. What goes wrong is logged: a page
// that is missing ends no training.
class RunReport final : public Callback {
 public:
  RunReport(std::filesystem::path run, const std::string& machine);

  void on_end(const TrainingResult& result) override;

 private:
  std::filesystem::path run_;
};

// The same page for a run that an error has ended, if it has metrics by then.
void report_failed_run(const std::filesystem::path& run);

}  // namespace lockstep::train
