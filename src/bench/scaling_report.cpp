#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/machine_report.h>
#include <lockstep/base/table.h>
#include <lockstep/base/text.h>
#include <lockstep/bench/scaling.h>

namespace lockstep::bench {
namespace {

using Json = nlohmann::ordered_json;

std::string percent(double part) {
  return fmt::format("{:.1f}%", part * 100);
}

std::vector<Table::Cell> cells_of(const ScalingRow& row) {
  if (!row.failure.empty()) {
    return {std::int64_t{row.ranks}, {}, {}, {}, {}, {}, {}, {}, {}, "failed: " + row.failure};
  }
  std::string note = row.oversubscribed ? "more ranks than cores or GPUs" : "";
  return {std::int64_t{row.ranks},
          row.batch,
          row.samples_per_second,
          fmt::format("{:.1f} to {:.1f}", row.least, row.greatest),
          row.milliseconds,
          percent(row.efficiency),
          percent(row.data),
          percent(row.compute),
          row.communication ? Table::Cell(percent(*row.communication)) : Table::Cell(),
          std::move(note)};
}

}  // namespace

std::string to_text(const ScalingOptions& options, const std::vector<ScalingRow>& rows) {
  Table table({{"ranks", "", 0},
               {"batch", "batch", 0},
               {"samples_per_second", "samples/s", 1},
               {"spread", "spread", 1},
               {"milliseconds", "ms a step", 2},
               {"efficiency", "efficiency", 1},
               {"data", "data", 1},
               {"compute", "compute", 1},
               {"communication", "communication", 1},
               {"note", "", 0}});
  bool some_share = false;
  for (const ScalingRow& row : rows) {
    table.add_row(cells_of(row));
    some_share = some_share || row.oversubscribed;
  }
  std::string text =
      fmt::format("{}, {} scaling, {}, {}, {}; median of {}\n", options.model, options.strong ? "strong" : "weak",
                  options.device, options.precision, options.mode, format_plural(options.rounds, "round"));
  text += table.to_text();
  if (some_share) {
    text +=
        "Sizes with more ranks than cores or GPUs say how the launcher and the program bear it, nothing of scaling.\n";
  }
  return text;
}

Json to_json(const ScalingOptions& options, const std::vector<ScalingRow>& rows) {
  Json values = Json::array();
  for (const ScalingRow& row : rows) {
    if (!row.failure.empty()) {
      values.push_back({{"ranks", row.ranks}, {"oversubscribed", row.oversubscribed}, {"failure", row.failure}});
      continue;
    }
    Json value = {{"ranks", row.ranks},
                  {"nodes", row.nodes},
                  {"batch", row.batch},
                  {"threads", row.threads},
                  {"samples_per_second", row.samples_per_second},
                  {"least", row.least},
                  {"greatest", row.greatest},
                  {"milliseconds", row.milliseconds},
                  {"compute_milliseconds", row.compute_milliseconds},
                  {"efficiency", row.efficiency},
                  {"oversubscribed", row.oversubscribed},
                  {"split",
                   {{"data", row.data},
                    {"compute", row.compute},
                    {"communication", row.communication ? Json(*row.communication) : Json(nullptr)}}}};
    if (row.anatomy) value["anatomy"] = trace::to_json(*row.anatomy);
    values.push_back(std::move(value));
  }
  const Json machine = machine_report();
  return {{"kind", "scaling"},
          {"model", options.model},
          {"device", options.device},
          {"backend", options.backend},
          {"mode", options.mode},
          {"scaling", options.strong ? "strong" : "weak"},
          {"batch", options.batch},
          {"precision", options.precision},
          {"engine", options.engine},
          {"rounds", options.rounds},
          {"rows", std::move(values)},
          {"machine", {{"build", machine.at("build")}, {"cpu", machine.at("cpu")}, {"gpu", machine.at("gpu")}}}};
}

}  // namespace lockstep::bench
