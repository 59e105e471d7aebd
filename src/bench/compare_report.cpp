#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/machine_report.h>
#include <lockstep/base/table.h>
#include <lockstep/base/text.h>
#include <lockstep/bench/compare.h>

namespace lockstep::bench {
namespace {

using Json = nlohmann::ordered_json;

std::string to_text(const Ratio& ratio) {
  return fmt::format("{:.2f} ({:.2f} to {:.2f})", ratio.median, ratio.least, ratio.greatest);
}

Table::Cell cell_of(const ComparedSide* side) {
  if (side == nullptr) return {};
  if (!side->failure.empty()) return "failed";
  return side->median;
}

std::string memory_of(const ComparedSide& side) {
  return format_bytes(static_cast<std::uint64_t>(side.peak_memory));
}

const ComparedSide* find(const CompareRow& row, const std::string& variant) {
  const auto found = std::find_if(row.peers.begin(), row.peers.end(),
                                  [&](const auto& peer) { return !peer.tuned && peer.name == variant; });
  return found == row.peers.end() ? nullptr : &*found;
}

// The variants that some model was measured with.
std::vector<std::string> variants_in(const std::vector<CompareRow>& rows) {
  std::vector<std::string> names;
  for (const CompareRow& row : rows) {
    for (const ComparedSide& peer : row.peers) {
      if (std::find(names.begin(), names.end(), peer.name) == names.end()) names.push_back(peer.name);
    }
  }
  return names;
}

std::string about_peers(const std::vector<CompareRow>& rows) {
  for (const CompareRow& row : rows) {
    for (const ComparedSide& peer : row.peers) {
      if (!peer.about.empty()) return "; " + peer.about;
    }
  }
  return "";
}

Table table_of(const std::vector<CompareRow>& rows) {
  const auto variants = variants_in(rows);
  std::vector<Table::Column> columns = {{"model", "", 0}, {"batch", "", 0}, {"lockstep", "", 1}};
  for (const std::string& variant : variants) columns.push_back({variant, "", 1});
  if (!variants.empty()) {
    columns.insert(columns.end(), {{"tuned", "", 1},
                                   {"over_best", "times the best", 2},
                                   {"over_tuned", "times tuned", 2},
                                   {"best", "the best is", 0}});
  }
  columns.push_back({"memory", "memory", 0});
  if (!variants.empty()) columns.push_back({"memory_of_best", "of the best", 0});
  Table table(std::move(columns));
  for (const CompareRow& row : rows) {
    std::vector<Table::Cell> cells = {row.model.name, row.model.batch, row.ours.median};
    for (const std::string& variant : variants) cells.push_back(cell_of(find(row, variant)));
    if (!variants.empty()) {
      cells.push_back(row.tuned ? cell_of(&row.peers[*row.tuned]) : Table::Cell());
      cells.push_back(row.over_best ? Table::Cell(to_text(*row.over_best)) : Table::Cell());
      cells.push_back(row.over_tuned ? Table::Cell(to_text(*row.over_tuned)) : Table::Cell());
      cells.push_back(row.best ? Table::Cell(row.peers[*row.best].name) : Table::Cell());
    }
    cells.emplace_back(memory_of(row.ours));
    if (!variants.empty()) {
      cells.push_back(row.best ? Table::Cell(memory_of(row.peers[*row.best])) : Table::Cell());
    }
    table.add_row(std::move(cells));
  }
  return table;
}

Json to_json(const ComparedSide& side) {
  Json value = {{"name", side.name}, {"tuned", side.tuned}, {"about", side.about}};
  if (!side.failure.empty()) {
    value["failure"] = side.failure;
    return value;
  }
  value.update({{"samples_per_second", side.median},
                {"least", side.least},
                {"greatest", side.greatest},
                {"rounds", side.samples_per_second},
                {"peak_memory", side.peak_memory}});
  return value;
}

Json to_json(const std::optional<Ratio>& ratio) {
  if (!ratio) return nullptr;
  return {{"median", ratio->median}, {"least", ratio->least}, {"greatest", ratio->greatest}};
}

}  // namespace

std::string to_text(const CompareOptions& options, const std::vector<CompareRow>& rows) {
  std::string text = fmt::format("samples/s of training, {}, {}, {} engine, {}; median of {} of {}{}\n", options.device,
                                 options.precision, options.engine, format_plural(options.ranks, "rank"),
                                 format_plural(options.rounds, "round"),
                                 format_duration(std::chrono::duration<double>(options.seconds)), about_peers(rows));
  text += table_of(rows).to_text();
  for (const CompareRow& row : rows) {
    for (const ComparedSide& peer : row.peers) {
      if (peer.failure.empty()) continue;
      text += fmt::format("{}, {}{}: {}\n", row.model.name, peer.tuned ? "tuned " : "", peer.name, peer.failure);
    }
  }
  return text;
}

Json to_json(const CompareOptions& options, const std::vector<CompareRow>& rows) {
  Json values = Json::array();
  for (const CompareRow& row : rows) {
    Json value = {{"model", row.model.name}, {"batch", row.model.batch}, {"lockstep", to_json(row.ours)}};
    value["pytorch"] = Json::array();
    for (const ComparedSide& peer : row.peers) value["pytorch"].push_back(to_json(peer));
    value["over_best"] = to_json(row.over_best);
    value["over_tuned"] = to_json(row.over_tuned);
    values.push_back(std::move(value));
  }
  const Json machine = machine_report();
  return {{"kind", "compare"},
          {"device", options.device},
          {"precision", options.precision},
          {"engine", options.engine},
          {"ranks", options.ranks},
          {"seconds", options.seconds},
          {"rows", std::move(values)},
          {"machine", {{"build", machine.at("build")}, {"cpu", machine.at("cpu")}, {"gpu", machine.at("gpu")}}}};
}

}  // namespace lockstep::bench
