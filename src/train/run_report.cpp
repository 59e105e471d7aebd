#include "run_report.h"

#include <signal.h>

#include <exception>
#include <utility>

#include <nlohmann/json.hpp>

#include <lockstep/base/files.h>
#include <lockstep/base/in_short.h>
#include <lockstep/base/log.h>
#include <lockstep/base/machine_report.h>
#include <lockstep/report/report.h>

namespace lockstep::train {

namespace {

// Of this thread.
class SignalsWait {
 public:
  SignalsWait() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsWait() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;

 private:
  sigset_t before_{};
};

void warn(const std::exception& error) {
  log::warning("the run has no machine.json: {}", in_short(error));
}

}  // namespace

std::string describe_machine() {
  const SignalsWait signals_wait;
  try {
    return machine_report().dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  } catch (const std::exception& error) {
    warn(error);
    return {};
  }
}

RunReport::RunReport(std::filesystem::path run, const std::string& machine) : run_(std::move(run)) {
  if (machine.empty()) return;
  try {
    files::write_atomically(run_ / "machine.json", machine);
  } catch (const std::exception& error) {
    warn(error);
  }
}

void RunReport::on_end(const TrainingResult& /*result*/) {
  report::write_run_report(run_);
}

void report_failed_run(const std::filesystem::path& run) {
  std::error_code error;
  const auto metrics = std::filesystem::file_size(run / "metrics.jsonl", error);
  if (!error && metrics > 0) report::write_run_report(run);
}

}  // namespace lockstep::train
