#include "run_report.h"

#include <exception>
#include <utility>

#include <nlohmann/json.hpp>

#include <lockstep/base/files.h>
#include <lockstep/base/in_short.h>
#include <lockstep/base/log.h>
#include <lockstep/base/machine_report.h>
#include <lockstep/report/report.h>

namespace lockstep::train {

RunReport::RunReport(std::filesystem::path run) : run_(std::move(run)) {
  try {
    const auto machine = machine_report().dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
    files::write_atomically(run_ / "machine.json", machine + "\n");
  } catch (const std::exception& error) {
    log::warning("the run has no machine.json: {}", in_short(error));
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
