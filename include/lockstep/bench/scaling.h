// How training goes on more and more ranks.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/trace/anatomy.h>

namespace lockstep::bench {

struct ScalingOptions {
  std::string program;  // lockstep-torch
  std::string model = "resnet50";
  std::vector<int> ranks;
  bool strong = false;  // the smallest size's samples of a step are divided; else each rank has as many at all sizes
  std::int64_t batch = 32;  // of each rank, at the smallest size
  std::string precision = "fp32", mode = "ddp", device = "cpu", backend = "auto", engine = "fused";
  bool graph = false;
  int threads =
      0;  // of each rank at all sizes; 0: on CPUs, what the largest size that fits this machine leaves to each
  int rounds = 3;
  double seconds = 2;              // of each mode, at each size, in a round
  std::vector<std::string> words;  // further ones for lockstep bench step
};

struct ScalingRow {
  int ranks = 0, nodes = 1;
  std::int64_t batch = 0;                                  // of each rank
  int threads = 0;                                         // of each rank; 0: not said
  bool oversubscribed = false;                             // more ranks than this machine has cores or GPUs
  std::string failure;                                     // empty: none
  double samples_per_second = 0, least = 0, greatest = 0;  // of the median round; of all
  double milliseconds = 0;                                 // of a step
  double compute_milliseconds = 0;                         // of one without communication, in the same rounds
  double efficiency = 1;                                   // against the smallest size
  double data = 0, compute = 1;                            // parts of the time
  std::optional<double> communication;
  std::optional<trace::Anatomy> anatomy;
};

// Runs `lockstep bench step` at each size, in rounds that go through all sizes, so that what else the machine does
// meets all alike. `tell` gets a line for each of these. A size that fails has its row say so, and the others are kept.
// Throws UsageError for options that make no sense, RuntimeError where it was asked to stop or every size failed.
std::vector<ScalingRow> measure_scaling(const ScalingOptions& options,
                                        const std::function<void(const std::string&)>& tell);

std::string to_text(const ScalingOptions& options, const std::vector<ScalingRow>& rows);
nlohmann::ordered_json to_json(const ScalingOptions& options, const std::vector<ScalingRow>& rows);

}  // namespace lockstep::bench
