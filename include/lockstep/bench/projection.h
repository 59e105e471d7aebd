// Sizes that nobody has measured, from one that was, and a model of the network.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/bench/network.h>
#include <lockstep/trace/anatomy.h>

namespace lockstep::bench {

struct MeasuredSize {
  std::int64_t ranks = 1;
  double samples_per_second = 0;
  double efficiency = 1;
  bool oversubscribed = false;  // ranks shared cores
};

// What a projection starts from.
struct Measured {
  std::string name;  // for people: the model, the file
  std::vector<MeasuredSize> sizes;
  double samples_of_rank = 0;  // in a step
  trace::Anatomy step;         // of a rank that waits for nobody
  std::string network;         // that the file names for itself; mostly empty
};

// From what `lockstep bench scaling` has written, or from a run's folder with a trace.json and a metrics.jsonl. Throws
// UsageError for a file that is no such thing, or has no anatomy of a step.
Measured read_measured(const std::string& path);

struct ProjectionOptions {
  std::vector<std::int64_t> ranks;
  Network network;
  std::vector<Algorithm> algorithms = {Algorithm::kRing, Algorithm::kTree, Algorithm::kHierarchical};
  // Buckets that follow one another become one of at most so many megabytes; 0: as they were measured.
  double bucket_megabytes = 0;
  std::optional<double> jitter;  // in place of the measured one
};

struct ProjectedRow {
  std::int64_t ranks = 0, nodes = 0;
  Algorithm algorithm = Algorithm::kRing;
  double milliseconds = 0;   // of a step
  double communication = 0;  // milliseconds of it that all buckets take
  double exposed = 0;        // of which backward covers nothing
  double waiting = 0;        // for the slowest rank
  double samples_per_second = 0;
  double efficiency = 0;  // against as many ranks at the speed of the smallest size measured
};

// Each rank has the batch that was measured. A bucket is reduced when it is ready and the one before it is through;
// backward ends when both the last gradient and the last bucket are there. Ranks' steps differ by chance, independently
// and normally, by the jitter, and all wait for the slowest.
std::vector<ProjectedRow> project(const Measured& measured, const ProjectionOptions& options);

// "16:4096" doubles from 16 up to 4096; "16,48,96" are those. UsageError for another form.
std::vector<std::int64_t> parse_sizes_of_job(const std::string& text);

nlohmann::ordered_json to_json(const Measured& measured, const ProjectionOptions& options,
                               const std::vector<ProjectedRow>& rows);

}  // namespace lockstep::bench
