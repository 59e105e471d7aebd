#include <lockstep/bench/scaling.h>

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/affinity_mask.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/base/gpus.h>
#include <lockstep/base/text.h>
#include <lockstep/launch/run.h>

namespace lockstep::bench {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Where ranks leave their results; gone with all that is in it.
class Results {
 public:
  Results() {
    std::string name = (fs::temp_directory_path() / "lockstep-scaling-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw system_error("cannot make a folder for results", errno);
    folder_ = name;
  }
  ~Results() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;

  fs::path file() const { return folder_ / "step.json"; }

 private:
  fs::path folder_;
};

void require_sense(const ScalingOptions& options) {
  if (options.ranks.empty()) throw UsageError("a scaling study needs at least one number of ranks");
  const int smallest = *std::min_element(options.ranks.begin(), options.ranks.end());
  for (const int ranks : options.ranks) {
    if (ranks < 1) throw UsageError(fmt::format("there is no job of {} ranks", ranks));
    if (options.strong && options.batch * smallest % ranks != 0) {
      throw UsageError({.message = "the samples of a step cannot be divided evenly",
                        .found = fmt::format("{} samples, {} ranks", options.batch * smallest, ranks),
                        .next = "take a batch that all numbers of ranks divide"});
    }
  }
  if (options.backend == "mpi") {
    throw UsageError({.message = "a scaling study starts its ranks itself, and mpi has a launcher of its own",
                      .next = "take another backend, or run lockstep bench step -n N --backend mpi for each size"});
  }
  const std::vector<std::string> modes = {"ddp", "optimizer", "zero", "sync"};
  if (std::find(modes.begin(), modes.end(), options.mode) == modes.end()) {
    throw UsageError({.message = fmt::format("ranks do not work together in mode '{}'", options.mode),
                      .expected = "ddp, optimizer, zero or sync"});
  }
}

int room_for_ranks(const ScalingOptions& options) {
  const int here =
      options.device == "cuda" ? static_cast<int>(gpu_addresses().size()) : AffinityMask::current().count();
  return std::max(1, here);
}

// The same for all sizes, so that a rank has the same to compute with in each.
int threads_of_rank(const ScalingOptions& options) {
  if (options.threads > 0 || options.device == "cuda") return options.threads;
  const int room = room_for_ranks(options);
  int largest = 1;
  for (const int ranks : options.ranks) {
    if (ranks <= room) largest = std::max(largest, ranks);
  }
  return std::max(1, room / largest);
}

std::vector<std::string> command_for(const ScalingOptions& options, const ScalingRow& row, const fs::path& file,
                                     bool with_anatomy) {
  std::vector<std::string> words = {options.program,
                                    "bench",
                                    "step",
                                    "--model",
                                    options.model,
                                    "--batch",
                                    std::to_string(row.batch),
                                    "--precision",
                                    options.precision,
                                    "--mode",
                                    "none," + options.mode,
                                    "--device",
                                    options.device,
                                    "--backend",
                                    options.backend,
                                    "--engine",
                                    options.engine,
                                    "--rounds",
                                    "1",
                                    "--seconds",
                                    fmt::format("{}", options.seconds),
                                    "--output",
                                    file.string()};
  if (row.threads > 0) words.insert(words.end(), {"--threads", std::to_string(row.threads)});
  if (options.graph) words.emplace_back("--graph");
  if (with_anatomy) words.emplace_back("--anatomy");
  words.insert(words.end(), options.words.begin(), options.words.end());
  return words;
}

// What one run of one size told.
struct Measurement {
  double samples_per_second, milliseconds, compute_milliseconds, data, compute;
  std::optional<double> communication;
};

Measurement read_result(const fs::path& file, ScalingRow& row) {
  const Json value = Json::parse(files::read(file));
  const Json &alone = value.at("modes").at(0), &together = value.at("modes").at(1);
  row.nodes = value.at("nodes");
  if (together.contains("anatomy")) row.anatomy = trace::anatomy_from_json(together["anatomy"]);
  Measurement result{.samples_per_second = together.at("samples_per_second"),
                     .milliseconds = together.at("milliseconds"),
                     .compute_milliseconds = alone.at("milliseconds"),
                     .data = together.at("data_wait"),
                     .compute = together.at("compute"),
                     .communication = {}};
  if (together.contains("communication")) result.communication = together["communication"];
  return result;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void conclude(ScalingRow& row, const std::vector<Measurement>& measurements) {
  const auto middle = [&](const auto& value) {
    std::vector<double> values;
    for (const Measurement& each : measurements) values.push_back(value(each));
    return median(std::move(values));
  };
  const auto speed = [](const Measurement& each) { return each.samples_per_second; };
  const auto slower = [&](const Measurement& a, const Measurement& b) { return speed(a) < speed(b); };
  const auto [least, greatest] = std::minmax_element(measurements.begin(), measurements.end(), slower);
  row.samples_per_second = middle(speed);
  row.least = least->samples_per_second;
  row.greatest = greatest->samples_per_second;
  row.milliseconds = middle([](const Measurement& each) { return each.milliseconds; });
  row.compute_milliseconds = middle([](const Measurement& each) { return each.compute_milliseconds; });
  row.data = middle([](const Measurement& each) { return each.data; });
  if (measurements.front().communication) {
    row.communication = middle([](const Measurement& each) { return each.communication.value_or(0); });
  }
  row.compute = 1 - row.data - row.communication.value_or(0);
}

void compare_with_smallest(std::vector<ScalingRow>& rows) {
  const auto smallest = std::find_if(rows.begin(), rows.end(), [](const auto& row) { return row.failure.empty(); });
  if (smallest == rows.end()) {
    throw RuntimeError({.message = "every size failed", .found = rows.front().failure, .next = "see what ranks said"});
  }
  const double each = smallest->samples_per_second / smallest->ranks;
  for (ScalingRow& row : rows) row.efficiency = row.samples_per_second / row.ranks / each;
}

}  // namespace

std::vector<ScalingRow> measure_scaling(const ScalingOptions& options,
                                        const std::function<void(const std::string&)>& tell) {
  require_sense(options);
  std::vector<int> sizes = options.ranks;
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  std::vector<ScalingRow> rows;
  for (const int ranks : sizes) {
    rows.push_back({.ranks = ranks,
                    .batch = options.strong ? options.batch * sizes.front() / ranks : options.batch,
                    .threads = threads_of_rank(options),
                    .oversubscribed = ranks > room_for_ranks(options)});
  }
  const Results results;
  std::vector<std::vector<Measurement>> measurements(rows.size());
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ScalingRow& row = rows[i];
      if (!row.failure.empty()) continue;
      const bool with_anatomy = round == 0 && !options.graph;
      const int code = launch::run({.ranks = row.ranks,
                                    .command = command_for(options, row, results.file(), with_anatomy),
                                    .output = {.show = launch::OutputOptions::Show::kNone}});
      if (code == 128 + SIGINT || code == 128 + SIGTERM || code == 128 + SIGHUP) {
        throw RuntimeError("the scaling study was asked to stop");
      }
      if (code != kExitSuccess) {
        row.failure = fmt::format("exit code {} in round {}", code, round + 1);
        tell(fmt::format("{}: {}", format_plural(row.ranks, "rank"), row.failure));
        continue;
      }
      measurements[i].push_back(read_result(results.file(), row));
      tell(fmt::format("round {} of {}, {}: {:.1f} samples/s", round + 1, options.rounds,
                       format_plural(row.ranks, "rank"), measurements[i].back().samples_per_second));
    }
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].failure.empty()) conclude(rows[i], measurements[i]);
  }
  compare_with_smallest(rows);
  return rows;
}

}  // namespace lockstep::bench
