#include "parse_metrics.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/text.h>

#include "json_fields.h"

namespace lockstep::report {
namespace {

constexpr std::size_t kLongestLine = 65'536;
constexpr std::size_t kMostRows = 1'000'000;

// NaN, Infinity and -Infinity outside of strings become null.
std::string without_nan(std::string_view line) {
  constexpr std::array<std::string_view, 3> kWords = {"NaN", "-Infinity", "Infinity"};
  std::string text;
  bool in_string = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (in_string && line[i] == '\\') {
      text += line.substr(i, 2);
      ++i;
      continue;
    }
    if (line[i] == '"') in_string = !in_string;
    const auto word = std::find_if(kWords.begin(), kWords.end(), [&](auto w) { return line.substr(i).starts_with(w); });
    if (in_string || word == kWords.end()) {
      text += line[i];
    } else {
      text += "null";
      i += word->size() - 1;
    }
  }
  return text;
}

nlohmann::json parse_line(std::string_view line) {
  auto value = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!value.is_discarded()) return value;
  return nlohmann::json::parse(without_nan(line), nullptr, /*allow_exceptions=*/false);
}

std::optional<std::int64_t> count_in(const nlohmann::json& value, const char* key) {
  constexpr double kMost = 1e15;  // exact in a double
  const double number = number_in(value, key);
  if (!(number >= 0 && number <= kMost)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::optional<MetricsRow> row_of(const nlohmann::json& value) {
  const auto step = count_in(value, "step"), epoch = count_in(value, "epoch");
  const std::string split = text_in(value, "split"), span = text_in(value, "span");
  const bool is_test = split == "test";
  if (!step || !epoch || (!is_test && split != "train")) return std::nullopt;
  return MetricsRow{.step = *step,
                    .epoch = *epoch,
                    .is_test = is_test,
                    .is_epoch = span.empty() ? is_test : span == "epoch",
                    .loss = number_in(value, "loss"),
                    .top1 = number_in(value, "top1"),
                    .top5 = number_in(value, "top5"),
                    .learning_rate = number_in(value, "lr"),
                    .samples = number_in(value, "samples"),
                    .samples_per_second = number_in(value, "samples_per_second"),
                    .ranks = number_in(value, "ranks"),
                    .time = number_in(value, "time"),
                    .data = number_in(value, "data_wait"),
                    .compute = number_in(value, "compute"),
                    .communication = number_in(value, "communication")};
}

// Lines that were left out for one reason.
struct LeftOut {
  const char* why;
  std::int64_t count = 0, first = 0;

  void add(std::int64_t line) {
    if (count++ == 0) first = line;
  }
};

}  // namespace

Metrics parse_metrics(std::string_view text) {
  Metrics metrics;
  LeftOut no_json{"no JSON"}, other{"not the metrics of a training or a test"}, too_long{"longer than 64 KiB"};
  std::int64_t number = 0;
  while (!text.empty() && metrics.rows.size() < kMostRows) {
    ++number;
    const std::size_t end = text.find('\n');
    const bool is_cut = end == std::string_view::npos;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(is_cut ? text.size() : end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (line.size() > kLongestLine) {
      too_long.add(number);
      continue;
    }
    const nlohmann::json value = parse_line(line);
    if (value.is_discarded() && is_cut) {
      metrics.notes.push_back(fmt::format("line {}, the last, is cut off", number));
    } else if (value.is_discarded()) {
      no_json.add(number);
    } else if (const auto row = row_of(value)) {
      metrics.rows.push_back(*row);
    } else {
      other.add(number);
    }
  }
  for (const LeftOut& lines : {no_json, other, too_long}) {
    if (lines.count == 0) continue;
    metrics.notes.push_back(lines.count == 1 ? fmt::format("line {} is {}", lines.first, lines.why)
                                             : fmt::format("{} are {}, the first of them line {}",
                                                           format_plural(lines.count, "line"), lines.why, lines.first));
  }
  if (!text.empty()) metrics.notes.push_back(fmt::format("only its first {} lines are shown", format_count(kMostRows)));
  std::stable_sort(metrics.rows.begin(), metrics.rows.end(),
                   [](const MetricsRow& a, const MetricsRow& b) { return a.step < b.step; });
  return metrics;
}

}  // namespace lockstep::report
