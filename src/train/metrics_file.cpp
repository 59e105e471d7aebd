#include "metrics_file.h"

#include <fcntl.h>

#include <chrono>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/base/log.h>
#include <lockstep/base/text.h>

namespace lockstep::train {
namespace {

using Json = nlohmann::ordered_json;

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Of lines that a crash has cut, nothing is kept.
std::string lines_up_to(const std::filesystem::path& path, std::int64_t step) {
  if (step == 0 || !std::filesystem::exists(path)) return "";
  std::string kept;
  for (const std::string& line : split(files::read(path), '\n')) {
    const auto value = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (value.is_object() && value.value("step", step + 1) <= step) kept += line + "\n";
  }
  return kept;
}

struct Where {
  std::int64_t step, epoch;
  const char* split;
  const char* span;
};

Json line_of(const Where& where, const Metrics& metrics, int ranks) {
  Json line = {{"step", where.step},
               {"epoch", where.epoch},
               {"split", where.split},
               {"span", where.span},
               {"loss", metrics.loss}};
  for (const auto& [name, value] : metrics.accuracy) line[name] = value;
  line["samples"] = metrics.samples;
  line["samples_per_second"] = metrics.samples_per_second;
  line["ranks"] = ranks;
  line["time"] = now();
  return line;
}

void add_training(Json& line, const Metrics& metrics, double rate) {
  line["lr"] = rate;
  line["data_wait"] = metrics.split.data;
  line["compute"] = metrics.split.compute;
  line["communication"] = metrics.split.communication ? Json(*metrics.split.communication) : Json(nullptr);
}

}  // namespace

MetricsFile::MetricsFile(std::filesystem::path path, std::int64_t step, int ranks)
    : path_(std::move(path)), ranks_(ranks) {
  files::write_atomically(path_, lines_up_to(path_, step));
  file_ = UniqueFd(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (file_.get() < 0) throw system_error(fmt::format("cannot open '{}'", path_.string()), errno);
}

void MetricsFile::on_steps(const StepReport& report) {
  if (!report.is_due) return;
  Json line = line_of({report.step, report.epoch, "train", "steps"}, report.recent, ranks_);
  add_training(line, report.recent, report.learning_rate);
  write(line.dump());
}

void MetricsFile::on_epoch(const EpochReport& report) {
  Json line = line_of({report.step, report.epoch, "train", "epoch"}, report.train, ranks_);
  add_training(line, report.train, report.learning_rate);
  write(line.dump());
  if (report.test) write(line_of({report.step, report.epoch, "test", "epoch"}, *report.test, ranks_).dump());
}

// A full disk is no reason to end training; it is said once.
void MetricsFile::write(const std::string& line) {
  const int error = files::write_all(file_.get(), line + "\n");
  if (error != 0 && !is_failing_) {
    log::warning("cannot write to {}: {}; training goes on", path_.string(), std::strerror(error));
  }
  is_failing_ = error != 0;
}

}  // namespace lockstep::train
