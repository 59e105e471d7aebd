// What a report shows: the numbers of training runs and of benchmarks, as they were read, before anything is drawn.
#pragma once
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <variant>
#include <vector>

namespace lockstep::report {

// A number that is not there. It is drawn as a gap and written as null.
inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// A line of metrics.jsonl; docs/training.md says what each number means.
struct MetricsRow {
  std::int64_t step = 0, epoch = 0;
  bool is_test = false;   // else training
  bool is_epoch = false;  // about a whole epoch; else about the steps since the line before
  double loss = kUnknown, top1 = kUnknown, top5 = kUnknown, learning_rate = kUnknown;
  double samples = kUnknown, samples_per_second = kUnknown, ranks = kUnknown, time = kUnknown;
  double data = kUnknown, compute = kUnknown, communication = kUnknown;
};

struct Fact {
  std::string name, value;
};

// A folder of `lockstep train`.
struct TrainingRun {
  std::vector<MetricsRow> rows;
  std::vector<Fact> config;  // every key with its value, "optimizer.lr"
};

// Samples a second, with the slowest and the fastest round.
struct Rate {
  double median = kUnknown, least = kUnknown, greatest = kUnknown;
};

// Parts of a step's time; they add up to 1.
struct Split {
  double data = kUnknown, compute = kUnknown, communication = kUnknown;
};

// `lockstep bench scaling`
struct ScalingRow {
  double ranks = kUnknown, nodes = kUnknown;
  Rate rate;
  double milliseconds = kUnknown, efficiency = kUnknown;
  Split split;
};
struct Scaling {
  std::string model, device, mode, kind, precision;  // kind: weak or strong
  double batch = kUnknown;
  std::vector<ScalingRow> rows;
};

// `lockstep bench project`
struct ProjectionRow {
  double ranks = kUnknown;
  std::string algorithm;
  double samples_per_second = kUnknown, efficiency = kUnknown;
};
struct Projection {
  std::string from, network;
  std::vector<ProjectionRow> rows;
  std::vector<ScalingRow> measured;
};

// `lockstep bench step`
struct StepRow {
  std::string mode;
  Rate rate;
  double milliseconds = kUnknown, kept = kUnknown, hidden = kUnknown;
  Split split;
};
struct Steps {
  std::string model, backend, device;
  double batch = kUnknown, ranks = kUnknown;
  std::vector<StepRow> rows;
};

// `lockstep bench step --ladder`
struct Rung {
  std::string name;
  Rate rate;
  double milliseconds = kUnknown, speedup = kUnknown, peak_memory = kUnknown;
};
struct Ladder {
  std::string model, backend, device;
  double batch = kUnknown, ranks = kUnknown;
  std::vector<Rung> rungs;
};

// `lockstep bench loader`
struct Loader {
  std::string path, augmentation;
  double ranks = kUnknown, workers = kUnknown, batch = kUnknown;
  Rate rate;
  double peak_memory = kUnknown;
};

// `lockstep bench allreduce`
struct AllReduceRow {
  double bytes = kUnknown, microseconds = kUnknown, algorithm_bandwidth = kUnknown, bus_bandwidth = kUnknown;
};
struct AllReduce {
  std::string backend;
  double ranks = kUnknown;
  std::vector<AllReduceRow> rows;
};

// One RUN of the command line.
struct Input {
  std::string name;  // no two inputs have the same
  std::filesystem::path path;
  std::variant<TrainingRun, Scaling, Projection, Steps, Ladder, Loader, AllReduce> content;
  std::vector<Fact> machine;
};

struct Data {
  std::vector<Input> inputs;
  std::vector<std::string> notes;  // what was left out, and why: a sentence each
};

}  // namespace lockstep::report
