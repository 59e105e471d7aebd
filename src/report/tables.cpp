#include "tables.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include <lockstep/base/text.h>

#include "run_progress.h"
#include "scale.h"

namespace lockstep::report {
namespace {

using Row = std::vector<std::string>;

constexpr std::size_t kMostRows = 500;

TextTable with_most_rows(TextTable table) {
  if (table.rows.size() <= kMostRows) return table;
  std::vector<Row> kept;
  const double stride = static_cast<double>(table.rows.size() - 1) / (kMostRows - 1);
  for (std::size_t i = 0; i < kMostRows; ++i) {
    kept.push_back(table.rows[static_cast<std::size_t>(std::llround(static_cast<double>(i) * stride))]);
  }
  table.rows = std::move(kept);
  return table;
}

// Lines that are only a background, or drawn with a ruler, have no columns.
bool has_column(const Series& series) {
  return series.stroke != Stroke::kFaint && series.stroke != Stroke::kDotted;
}

TextTable table_of_lines(const LineChart& chart) {
  const bool only_faint = std::none_of(chart.series.begin(), chart.series.end(), has_column);
  TextTable table{.head = {chart.x.title}, .rows = {}};
  std::map<double, Row> rows;
  for (const Series& series : chart.series) {
    if (!has_column(series) && !only_faint) continue;
    table.head.push_back(series.name);
    for (const Point& point : series.points) {
      Row& row = rows[point.x];
      row.resize(table.head.size() - 1);
      row.back() = number_text(point.y, chart.y.unit);
    }
  }
  for (auto& [x, row] : rows) {
    row.insert(row.begin(), number_text(x, chart.x.unit));
    row.resize(table.head.size());
    table.rows.push_back(std::move(row));
  }
  return with_most_rows(std::move(table));
}

TextTable table_of_bars(const BarChart& chart) {
  TextTable table{.head = {""}, .rows = {}};
  const auto column = [&](const std::string& name) {
    const auto found = std::find(table.head.begin() + 1, table.head.end(), name);
    const auto at = static_cast<std::size_t>(found - table.head.begin());
    if (at == table.head.size()) table.head.push_back(name);
    return at;
  };
  for (const Bar& bar : chart.bars) {
    Row row = {bar.label};
    const auto set = [&](const std::string& name, double value) {
      if (!std::isfinite(value)) return;
      const std::size_t at = column(name);
      row.resize(std::max(row.size(), at + 1));
      row[at] = number_text(value, chart.axis.unit);
    };
    for (const Segment& segment : bar.segments)
      set(segment.kind.empty() ? chart.axis.title : segment.kind, segment.value);
    set("least", bar.least);
    set("greatest", bar.greatest);
    table.rows.push_back(std::move(row));
  }
  for (Row& row : table.rows) row.resize(table.head.size());
  return with_most_rows(std::move(table));
}

// A row for each fact, a column for each input that has any.
template <typename Facts>
TextTable table_of_facts(const Data& data, const char* heading, Facts facts_of) {
  TextTable table{.head = {heading}, .rows = {}};
  std::vector<std::string> names;
  std::map<std::string, Row> rows;
  for (const Input& input : data.inputs) {
    const std::vector<Fact>& facts = facts_of(input);
    if (facts.empty()) continue;
    table.head.push_back(input.name);
    for (const Fact& fact : facts) {
      const auto [row, is_new] = rows.try_emplace(fact.name);
      if (is_new) names.push_back(fact.name);
      row->second.resize(table.head.size() - 1);
      row->second.back() = fact.value;
    }
  }
  if (names.empty()) return {};
  for (const std::string& name : names) {
    Row& row = rows[name];
    row.resize(table.head.size() - 1);
    table.marked.push_back(
        std::any_of(row.begin(), row.end(), [&](const std::string& cell) { return cell != row[0]; }));
    row.insert(row.begin(), name);
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string duration_text(double seconds) {
  constexpr double kMost = 1e9;
  return seconds >= 0 && seconds < kMost ? format_duration(std::chrono::duration<double>(seconds)) : "";
}

}  // namespace

TextTable table_of(const Chart& chart) {
  if (const auto* const lines = std::get_if<LineChart>(&chart)) return table_of_lines(*lines);
  return table_of_bars(std::get<BarChart>(chart));
}

TextTable run_table(const Data& data) {
  TextTable table{
      .head = {"run", "ranks", "epochs", "steps", "best top-1", "in epoch", "last test loss", "samples/s", "duration"},
      .rows = {}};
  for (const Input& input : data.inputs) {
    const auto* const run = std::get_if<TrainingRun>(&input.content);
    if (run == nullptr) continue;
    const RunSummary summary = summarize(*run);
    table.rows.push_back({input.name, number_text(summary.ranks), format_count(summary.epochs),
                          format_count(summary.steps), number_text(summary.best_top1, Unit::kPercent),
                          number_text(summary.best_epoch), number_text(summary.test_loss),
                          number_text(summary.samples_per_second), duration_text(summary.seconds)});
  }
  return table.rows.empty() ? TextTable{} : table;
}

TextTable config_table(const Data& data) {
  static const std::vector<Fact> kNone;
  return table_of_facts(data, "key", [](const Input& input) -> const std::vector<Fact>& {
    const auto* const run = std::get_if<TrainingRun>(&input.content);
    return run == nullptr ? kNone : run->config;
  });
}

TextTable machine_table(const Data& data) {
  return table_of_facts(data, "", [](const Input& input) -> const std::vector<Fact>& { return input.machine; });
}

}  // namespace lockstep::report
