#include <lockstep/report/read.h>

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/base/in_short.h>
#include <lockstep/base/text.h>
#include <lockstep/config/value.h>

#include "name_inputs.h"
#include "parse_bench.h"
#include "parse_metrics.h"

namespace lockstep::report {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestMetrics = std::uint64_t{256} << 20;
constexpr std::uint64_t kLargestJson = std::uint64_t{16} << 20;
constexpr std::size_t kMostKeys = 1000;

void add_keys(const config::Value& value, const std::string& path, std::vector<Fact>& facts) {
  if (facts.size() >= kMostKeys) return;
  if (value.kind != config::Value::Kind::kMap || value.entries.empty()) {
    facts.push_back({path, config::to_flow(value)});
    return;
  }
  for (const config::Entry& entry : value.entries) {
    add_keys(entry.value, path.empty() ? entry.key : path + "." + entry.key, facts);
  }
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// Reads one file of a run by `read`; where that fails, the run is shown without it.
template <typename Read>
void read_part(const fs::path& file, std::vector<std::string>& notes, Read read) {
  try {
    if (is_there(file)) read();
  } catch (const Error& error) {
    notes.push_back(fmt::format("{}: {}", file.string(), in_short(error)));
  }
}

Input read_run(const fs::path& folder, std::vector<std::string>& notes) {
  const fs::path metrics_file = folder / "metrics.jsonl";
  if (!is_there(metrics_file)) {
    throw UsageError("it is no run of lockstep train: it has no metrics.jsonl");
  }
  Metrics metrics = parse_metrics(files::read(metrics_file, kLargestMetrics));
  for (const std::string& note : metrics.notes) notes.push_back(fmt::format("{}: {}", metrics_file.string(), note));
  if (metrics.rows.empty()) notes.push_back(fmt::format("{}: no metrics are in it yet", metrics_file.string()));
  Input input;
  TrainingRun run{.rows = std::move(metrics.rows), .config = {}};
  read_part(folder / "config.yaml", notes, [&] {
    const std::string name = (folder / "config.yaml").string();
    add_keys(config::parse_yaml(files::read(name, kLargestJson), name), "", run.config);
  });
  read_part(folder / "machine.json", notes, [&] {
    const auto machine =
        nlohmann::json::parse(files::read(folder / "machine.json", kLargestJson), nullptr, /*allow_exceptions=*/false);
    if (!machine.is_object()) throw UsageError("it is not what lockstep info --json prints");
    input.machine = machine_facts(machine);
  });
  input.content = std::move(run);
  return input;
}

Input read_input(const fs::path& path, std::vector<std::string>& notes) {
  std::error_code error;
  Input input = fs::is_directory(path, error) ? read_run(path, notes) : parse_bench(files::read(path, kLargestJson));
  input.path = path;
  return input;
}

bool holds(const Data& data, const fs::path& path) {
  return std::any_of(data.inputs.begin(), data.inputs.end(), [&](const Input& input) {
    std::error_code ignored;
    return fs::equivalent(input.path, path, ignored);
  });
}

}  // namespace

Data read(const std::vector<fs::path>& inputs) {
  if (inputs.size() > kMostInputs) {
    throw UsageError({.message = "too many runs for one report",
                      .found = format_count(std::ssize(inputs)),
                      .expected = fmt::format("{} at most", kMostInputs)});
  }
  Data data;
  for (const fs::path& path : inputs) {
    if (holds(data, path)) {
      data.notes.push_back(fmt::format("{}: given twice, shown once", path.string()));
      continue;
    }
    try {
      data.inputs.push_back(read_input(path, data.notes));
    } catch (const Error& error) {
      data.notes.push_back(fmt::format("{}: {}", path.string(), in_short(error)));
    }
  }
  if (data.inputs.empty()) {
    throw UsageError({.message = "there is nothing to report on",
                      .found = format_some(data.notes, 8),
                      .expected = "a folder of lockstep train, or a file that lockstep bench --json printed"});
  }
  name_inputs(data.inputs);
  return data;
}

}  // namespace lockstep::report
