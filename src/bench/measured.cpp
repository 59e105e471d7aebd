#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/base/text.h>
#include <lockstep/bench/projection.h>
#include <lockstep/trace/timeline.h>

namespace lockstep::bench {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMostBytes = 1 << 28;

[[noreturn]] void refuse(const std::string& path, const std::string& found) {
  throw UsageError({.message = fmt::format("nothing can be projected from '{}'", path),
                    .found = found,
                    .expected = "a file of lockstep bench scaling -o, or a run's folder with its trace.json",
                    .next = "lockstep bench scaling --ranks 1,2 -o FILE; or train with --trace steps=10:30"});
}

double positive(const Json& value, const char* name, const std::string& path) {
  const double number = value.at(name).get<double>();
  if (!std::isfinite(number) || number <= 0) refuse(path, fmt::format("{} {}", name, number));
  return number;
}

// All parts of a step become longer or shorter alike.
trace::Anatomy stretched(trace::Anatomy anatomy, double step) {
  const double factor = step / anatomy.step;
  for (double* part : {&anatomy.step, &anatomy.data, &anatomy.forward, &anatomy.backward, &anatomy.update}) {
    *part *= factor;
  }
  for (trace::ReadyBucket& bucket : anatomy.buckets) bucket.ready *= factor;
  return anatomy;
}

Measured from_scaling(const Json& value, const std::string& path) {
  if (value.value("kind", "") != "scaling") refuse(path, fmt::format("kind '{}'", value.value("kind", "")));
  Measured measured{.name = value.value("model", path), .network = value.value("network", "")};
  bool has_step = false;
  for (const Json& row : value.at("rows")) {
    if (row.contains("failure")) continue;
    const MeasuredSize& size =
        measured.sizes.emplace_back(MeasuredSize{.ranks = static_cast<std::int64_t>(positive(row, "ranks", path)),
                                                 .samples_per_second = positive(row, "samples_per_second", path),
                                                 .efficiency = row.value("efficiency", 1.0),
                                                 .oversubscribed = row.value("oversubscribed", false)});
    // The largest size whose ranks had cores of their own: there they share all else, as they will.
    if (!row.contains("anatomy") || (size.oversubscribed && has_step)) continue;
    has_step = true;
    trace::Anatomy anatomy = trace::anatomy_from_json(row["anatomy"]);
    if (anatomy.step <= 0) refuse(path, "a step of no time");
    measured.step = stretched(std::move(anatomy), positive(row, "compute_milliseconds", path));
    measured.samples_of_rank = positive(row, "batch", path);
  }
  if (measured.sizes.empty()) refuse(path, "no size that was measured");
  if (!has_step) refuse(path, "no anatomy of a step");
  return measured;
}

Measured from_run(const fs::path& folder) {
  const fs::path file = folder / "trace.json";
  if (!fs::exists(file)) refuse(folder.string(), "no trace.json in it");
  Measured measured{.name = folder.string(),
                    .step = trace::anatomy_of(trace::read_chrome_trace(files::read(file, kMostBytes), 0))};
  for (const std::string& line : split(files::read(folder / "metrics.jsonl", kMostBytes), '\n')) {
    const Json value = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!value.is_object() || value.value("split", "") != "train") continue;
    measured.sizes = {{.ranks = value.at("ranks"), .samples_per_second = value.at("samples_per_second")}};
  }
  if (measured.sizes.empty()) refuse(folder.string(), "no line of training in metrics.jsonl");
  // A run's batch is in no file that can be relied on: it is what the ranks did in the time of a step.
  const Json about = Json::parse(files::read(file, kMostBytes)).at("otherData");
  const double step = about.at("summary").at("step_milliseconds").get<double>() / 1e3;
  const MeasuredSize& size = measured.sizes.front();
  measured.samples_of_rank = std::round(size.samples_per_second * step / static_cast<double>(size.ranks));
  return measured;
}

}  // namespace

Measured read_measured(const std::string& path) {
  try {
    if (fs::is_directory(path)) return from_run(path);
    return from_scaling(Json::parse(files::read(path, kMostBytes)), path);
  } catch (const nlohmann::json::exception& error) {
    refuse(path, error.what());
  }
}

}  // namespace lockstep::bench
