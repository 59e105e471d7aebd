// Training here and in PyTorch, in turns.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace lockstep::bench {

struct ComparedModel {
  std::string name;         // on both sides
  std::int64_t batch = 0;   // of a rank
  std::string model, stem;  // ours
  std::int64_t classes = 0;
  bool has_layout = true;  // pictures or volumes, which can lie channels-last
};

// The models of the classic benchmarks, with the batches that they have there.
std::vector<ComparedModel> classic_models(const std::string& device);

// "MODEL" or "MODEL:BATCH" with commas. UsageError for another form, and for an unknown model with the nearest.
std::vector<ComparedModel> parse_compared_models(const std::string& text, const std::string& device);

struct CompareOptions {
  std::string program, launcher;  // lockstep-torch, lockstep
  std::string python;             // that has torch; empty: ours alone is measured
  std::vector<ComparedModel> models;
  std::vector<std::string> variants;  // of PyTorch; empty: those of the device
  std::string device = "cpu", precision = "fp32", engine = "fused";
  int ranks = 1;
  int rounds = 5;
  double seconds = 2;  // of a turn
};

// The variants of PyTorch for a device: its ways of running a model, of which the fastest counts.
const std::vector<std::string>& compared_variants(const std::string& device);

// One program's turns.
struct ComparedSide {
  std::string name;                            // "lockstep", or a variant of PyTorch
  bool tuned = false;                          // with malloc told to keep its memory
  std::string about, failure;                  // failure: why it could not take part
  std::vector<double> samples_per_second;      // of each round
  double median = 0, least = 0, greatest = 0;  // of these
  std::int64_t peak_memory = 0;                // bytes: of the processes on CPUs, of tensors on GPUs
};

// Ours over theirs, within one round.
struct Ratio {
  double median = 0, least = 0, greatest = 0;
};

struct CompareRow {
  ComparedModel model;
  ComparedSide ours;
  std::vector<ComparedSide> peers;
  // The fastest of PyTorch's variants, as it is and with malloc tuned; nothing where none took part.
  std::optional<std::size_t> best, tuned;
  std::optional<Ratio> over_best, over_tuned;
};

// The Python to compare with: `wanted`; else what LOCKSTEP_PARITY_PYTHON names; else python3. Empty, with the reason
// in `why`, where python3 has no torch. UsageError where one was named and has none.
std::string find_python_with_torch(const std::string& wanted, std::string& why);

// Trains each model here and in each variant of PyTorch. All of them stay warm and are asked in turn, round by round,
// so that what else the machine does meets all alike. On CPUs the fastest variant of a first round, which does not
// count, has a second process, whose malloc keeps memory, because by default PyTorch has fresh pages in every step.
// `tell` gets a line for each thing that happens. A variant that fails has its row say so. Throws RuntimeError where
// ours fails, or the two models differ.
std::vector<CompareRow> measure_compare(const CompareOptions& options,
                                        const std::function<void(const std::string&)>& tell);

std::string to_text(const CompareOptions& options, const std::vector<CompareRow>& rows);
nlohmann::ordered_json to_json(const CompareOptions& options, const std::vector<CompareRow>& rows);

}  // namespace lockstep::bench
