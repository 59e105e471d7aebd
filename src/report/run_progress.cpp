#include "run_progress.h"

#include <algorithm>
#include <cmath>

namespace lockstep::report {
namespace {

double duration(const MetricsRow& row) {
  const double seconds = row.samples / row.samples_per_second;
  return std::isfinite(seconds) && seconds >= 0 ? seconds : 0;
}

double median(std::vector<double> values) {
  values.erase(std::remove_if(values.begin(), values.end(), [](double value) { return !std::isfinite(value); }),
               values.end());
  if (values.empty()) return kUnknown;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// By the time that each line is about.
double average(const std::vector<MetricsRow>& rows, double MetricsRow::*field) {
  double sum = 0, weight = 0;
  for (const MetricsRow& row : rows) {
    if (!std::isfinite(row.*field)) continue;
    sum += row.*field * duration(row);
    weight += duration(row);
  }
  return weight > 0 ? sum / weight : kUnknown;
}

}  // namespace

RunProgress::RunProgress(const std::vector<MetricsRow>& rows) {
  for (const MetricsRow& row : rows) {
    if (std::isnan(start_) && std::isfinite(row.time)) start_ = row.time - duration(row);
    if (std::isnan(steps_per_epoch_) && row.is_epoch && row.epoch > 0 && row.step > 0) {
      steps_per_epoch_ = static_cast<double>(row.step) / static_cast<double>(row.epoch);
    }
  }
}

double RunProgress::epochs(const MetricsRow& row) const {
  return row.is_epoch ? static_cast<double>(row.epoch) : static_cast<double>(row.step) / steps_per_epoch_;
}

std::vector<MetricsRow> training_rows(const TrainingRun& run) {
  std::vector<MetricsRow> epochs, steps;
  for (const MetricsRow& row : run.rows) {
    if (!row.is_test) (row.is_epoch ? epochs : steps).push_back(row);
  }
  return epochs.empty() ? steps : epochs;
}

RunSummary summarize(const TrainingRun& run) {
  RunSummary summary;
  const RunProgress progress(run.rows);
  const bool has_test =
      std::any_of(run.rows.begin(), run.rows.end(), [](const MetricsRow& row) { return row.is_test; });
  for (const MetricsRow& row : run.rows) {
    summary.steps = std::max(summary.steps, row.step);
    if (row.is_epoch) summary.epochs = std::max(summary.epochs, row.epoch);
    if (std::isfinite(row.ranks)) summary.ranks = row.ranks;
    summary.seconds = std::fmax(summary.seconds, progress.seconds(row));
    if (row.is_test && std::isfinite(row.loss)) summary.test_loss = row.loss;
    if (row.is_test == has_test && row.is_epoch && !(row.top1 <= summary.best_top1) && std::isfinite(row.top1)) {
      summary.best_top1 = row.top1;
      summary.best_epoch = static_cast<double>(row.epoch);
    }
  }
  const std::vector<MetricsRow> rows = training_rows(run);
  std::vector<double> rates;
  for (const MetricsRow& row : rows) rates.push_back(row.samples_per_second);
  summary.samples_per_second = median(rates);
  summary.split = {average(rows, &MetricsRow::data), average(rows, &MetricsRow::compute),
                   average(rows, &MetricsRow::communication)};
  return summary;
}

}  // namespace lockstep::report
