#include "parse_bench.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

#include "json_fields.h"

namespace lockstep::report {
namespace {

using Json = nlohmann::json;

Rate rate_in(const Json& row, const char* least = "samples_per_second_least",
             const char* greatest = "samples_per_second_greatest") {
  return {number_in(row, "samples_per_second"), number_in(row, least), number_in(row, greatest)};
}

Split split_in(const Json& row, const char* data) {
  return {number_in(row, data), number_in(row, "compute"), number_in(row, "communication")};
}

// Each item of the list `key`, read by `read`. Items that are no objects are the work of somebody else.
template <typename Row>
std::vector<Row> rows_in(const Json& value, const char* key, Row (*read)(const Json&)) {
  constexpr std::size_t kMost = 10'000;
  const Json& list = field_in(value, key);
  if (!list.is_array() || list.empty() || list.size() > kMost ||
      !std::all_of(list.begin(), list.end(), [](const Json& item) { return item.is_object(); })) {
    throw UsageError({.message = fmt::format("'{}' is not what lockstep bench prints", key),
                      .found = list.is_array() ? fmt::format("a list of {}", format_plural(std::ssize(list), "item"))
                                               : std::string(list.type_name()),
                      .expected = fmt::format("a list of 1 to {} objects", format_count(kMost))});
  }
  std::vector<Row> rows;
  for (const Json& item : list) rows.push_back(read(item));
  return rows;
}

ScalingRow scaling_row(const Json& row) {
  return {.ranks = number_in(row, "ranks"),
          .nodes = number_in(row, "nodes"),
          .rate = rate_in(row, "least", "greatest"),
          .milliseconds = number_in(row, "milliseconds"),
          .efficiency = number_in(row, "efficiency"),
          .split = split_in(field_in(row, "split"), "data")};
}

Scaling scaling(const Json& value) {
  return {.model = text_in(value, "model"),
          .device = text_in(value, "device"),
          .mode = text_in(value, "mode"),
          .kind = text_in(value, "scaling"),
          .precision = text_in(value, "precision"),
          .batch = number_in(value, "batch"),
          .rows = rows_in<ScalingRow>(value, "rows", scaling_row)};
}

ProjectionRow projection_row(const Json& row) {
  return {.ranks = number_in(row, "ranks"),
          .algorithm = text_in(row, "algorithm"),
          .samples_per_second = number_in(row, "samples_per_second"),
          .efficiency = number_in(row, "efficiency")};
}

Projection projection(const Json& value) {
  Projection made{.from = text_in(value, "from"),
                  .network = text_in(value, "network"),
                  .rows = rows_in<ProjectionRow>(value, "rows", projection_row)};
  const Json& measured = field_in(value, "measured");
  if (measured.is_array() && !measured.empty()) made.measured = rows_in<ScalingRow>(value, "measured", scaling_row);
  return made;
}

StepRow step_row(const Json& row) {
  return {.mode = text_in(row, "mode"),
          .rate = rate_in(row),
          .milliseconds = number_in(row, "milliseconds"),
          .kept = number_in(row, "kept"),
          .hidden = number_in(row, "hidden"),
          .split = split_in(row, "data_wait")};
}

Rung rung(const Json& row) {
  return {.name = text_in(row, "rung"),
          .rate = rate_in(row),
          .milliseconds = number_in(row, "milliseconds"),
          .speedup = number_in(row, "speedup"),
          .peak_memory = number_in(row, "peak_memory")};
}

template <typename Bench>
Bench with_heading(const Json& value) {
  return {.model = text_in(value, "model"),
          .backend = text_in(value, "backend"),
          .device = text_in(value, "device"),
          .batch = number_in(value, "batch"),
          .ranks = number_in(value, "ranks")};
}

Steps steps(const Json& value) {
  auto made = with_heading<Steps>(value);
  made.rows = rows_in<StepRow>(value, "modes", step_row);
  return made;
}

Ladder ladder(const Json& value) {
  auto made = with_heading<Ladder>(value);
  made.rungs = rows_in<Rung>(value, "rungs", rung);
  return made;
}

Loader loader(const Json& value) {
  return {.path = text_in(value, "path"),
          .augmentation = text_in(value, "augmentation"),
          .ranks = number_in(value, "ranks"),
          .workers = number_in(value, "workers"),
          .batch = number_in(value, "batch"),
          .rate = rate_in(value),
          .peak_memory = number_in(value, "peak_memory_bytes")};
}

AllReduceRow all_reduce_row(const Json& row) {
  return {.bytes = number_in(row, "bytes"),
          .microseconds = number_in(row, "microseconds"),
          .algorithm_bandwidth = number_in(row, "algbw_gb_per_s"),
          .bus_bandwidth = number_in(row, "busbw_gb_per_s")};
}

AllReduce all_reduce(const Json& value) {
  return {.backend = text_in(value, "backend"),
          .ranks = number_in(value, "ranks"),
          .rows = rows_in<AllReduceRow>(value, "rows", all_reduce_row)};
}

std::string kind_of(const Json& value) {
  if (value.contains("kind")) return text_in(value, "kind");
  if (value.contains("rungs")) return "ladder";
  if (value.contains("modes")) return "step";
  if (value.contains("augmentation")) return "loader";
  if (value.contains("backend") && value.contains("rows")) return "allreduce";
  return "";
}

}  // namespace

Input parse_bench(std::string_view text) {
  const Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!value.is_object()) {
    throw UsageError({.message = "it is no result of lockstep bench",
                      .found = value.is_discarded() ? "no JSON" : fmt::format("JSON, but {}", value.type_name()),
                      .expected = "what a verb of lockstep bench prints with --json"});
  }
  Input input;
  const std::string kind = kind_of(value);
  if (kind == "scaling") {
    input.content = scaling(value);
  } else if (kind == "projection") {
    input.content = projection(value);
  } else if (kind == "step") {
    input.content = steps(value);
  } else if (kind == "ladder") {
    input.content = ladder(value);
  } else if (kind == "loader") {
    input.content = loader(value);
  } else if (kind == "allreduce") {
    input.content = all_reduce(value);
  } else {
    throw UsageError({.message = "it is no result of lockstep bench that a report shows",
                      .found = kind.empty() ? "JSON with other fields" : fmt::format("the kind '{}'", kind),
                      .expected = "that of step, loader, allreduce, scaling or project"});
  }
  input.machine = machine_facts(field_in(value, "machine"));
  return input;
}

}  // namespace lockstep::report
