#include "progress_line.h"

#include <cmath>
#include <cstdio>

#include <fmt/format.h>

#include <lockstep/base/table.h>
#include <lockstep/base/text.h>

namespace lockstep::train {
namespace {

constexpr auto kPlainInterval = std::chrono::seconds(10);  // of lines where there is no terminal

std::string rate_of(const Metrics& metrics) {
  return format_count(std::llround(metrics.samples_per_second)) + " samples/s";
}

std::string split_of(const TimeSplit& split) {
  std::string text = fmt::format("data {:.0f}%", split.data * 100);
  if (split.communication) text += fmt::format(", communication {:.0f}%", *split.communication * 100);
  return text;
}

std::string ending_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kFinished:
      return "training is done";
    case Outcome::kTargetReached:
      return "training is done: the accuracy that was asked for is reached";
    case Outcome::kNoProgress:
      return "training is done: there was no progress any more";
    case Outcome::kInterrupted:
      return "training was interrupted";
  }
  return "";
}

Table::Cell cell(const std::optional<Metrics>& metrics, const std::string& name, double factor = 1) {
  const auto value = metrics ? find_metric(*metrics, name) : std::nullopt;
  return value ? Table::Cell(*value * factor) : Table::Cell();
}

void add_row(Table& table, const std::string& title, const EpochReport& report) {
  constexpr double kPercent = 100;
  table.add_row({title, report.epoch, report.step, report.train.loss, cell(report.train, "top1", kPercent),
                 cell(report.test, "loss"), cell(report.test, "top1", kPercent), cell(report.test, "top5", kPercent),
                 report.train.samples_per_second});
}

}  // namespace

std::string describe(const Metrics& metrics) {
  std::string text = fmt::format("loss {:.4f}", metrics.loss);
  for (const auto& [name, value] : metrics.accuracy) text += fmt::format("  {} {:.2f}%", name, value * 100);
  return text;
}

void ProgressLine::on_epoch_begin(std::int64_t epoch, std::int64_t steps) {
  const std::string of = epochs_ > 0 ? fmt::format("/{}", epochs_) : "";
  line_.emplace(fmt::format("epoch {}{}", epoch, of), steps, /*visible=*/true, kPlainInterval);
}

void ProgressLine::on_steps(const StepReport& report) {
  const auto top1 = find_metric(report.recent, "top1");
  line_->update(
      report.step_of_epoch,
      fmt::format("{}  loss {:.4f}{}  lr {:.4g}  {}  {} left", rate_of(report.recent), report.recent.loss,
                  top1 ? fmt::format("  top1 {:.1f}%", *top1 * 100) : "", report.learning_rate,
                  split_of(report.recent.split), format_duration(std::chrono::duration<double>(report.seconds_left))));
}

void ProgressLine::on_epoch(const EpochReport& report) {
  line_->finish(fmt::format("{}  {}  lr {:.4g}  {}  {}", rate_of(report.train), describe(report.train),
                            report.learning_rate, split_of(report.train.split),
                            format_duration(std::chrono::duration<double>(report.train.seconds))));
  line_.reset();
  if (!report.test) return;
  fmt::print("  test  {}{}  ({} samples, {})\n", describe(*report.test), report.is_best ? "  best so far" : "",
             format_count(report.test->samples), format_duration(std::chrono::duration<double>(report.test->seconds)));
  std::fflush(stdout);
}

void ProgressLine::on_end(const TrainingResult& result) {
  if (line_) line_->finish("");
  fmt::print("\n{} after {} and {}, {} of training\n", ending_of(result.outcome), format_plural(result.epochs, "epoch"),
             format_plural(result.steps, "step"),
             format_duration(std::chrono::duration<double>(result.training_seconds)));
  if (result.last) {
    Table table({{"", " "},
                 {"epoch"},
                 {"step"},
                 {"train_loss", "train loss", 4},
                 {"train_top1", "train top1 %"},
                 {"test_loss", "test loss", 4},
                 {"test_top1", "test top1 %"},
                 {"test_top5", "test top5 %"},
                 {"samples_per_second", "samples/s", 0}});
    if (result.best && result.best->epoch != result.last->epoch) add_row(table, "best", *result.best);
    add_row(table, "last", *result.last);
    fmt::print("{}", table.to_text());
  }
  fmt::print("  run         {}\n  metrics     {}\n", run_.string(), (run_ / "metrics.jsonl").string());
  const auto report = run_ / "report.html";
  if (std::error_code error; std::filesystem::exists(report, error)) fmt::print("  report      {}\n", report.string());
  if (result.checkpoint) fmt::print("  checkpoint  {}\n", result.checkpoint->string());
  if (result.outcome == Outcome::kInterrupted && result.checkpoint) {
    fmt::print("  go on       with the same command and --resume auto\n");
  }
  fmt::print("  (rates leave out start-up, evaluation and checkpoints)\n");
  std::fflush(stdout);
}

}  // namespace lockstep::train
