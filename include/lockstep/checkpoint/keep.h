// Which checkpoints stay.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lockstep::checkpoint {

struct Keep {
  int last = 3;        // the newest; at least one is always kept
  int best = 0;        // those with the best `metric`
  std::string metric;  // a name in Manifest::numbers
  bool larger_is_better = true;
};

struct Candidate {
  std::int64_t step = 0;
  std::optional<double> metric;
};

// The steps that are neither among the last nor among the best, in ascending order. Of equal metrics the newer is
// better; without a metric, or with NaN, a checkpoint is never among the best. Throws UsageError for negative numbers,
// and for best ones without a metric's name.
std::vector<std::int64_t> superfluous(std::span<const Candidate> candidates, const Keep& keep);

struct Pruned {
  std::vector<std::int64_t> removed;
  std::string problem;  // why not all that is superfluous was removed; empty when it was
};

// Removes the superfluous checkpoints of a folder, once one of those that stay has been verified: the only good one is
// never removed. Those whose checkpoint.json cannot be read count for nothing and are left alone. Throws UsageError
// while another process writes there, RuntimeError when the folder cannot be read.
Pruned prune(const std::filesystem::path& checkpoints, const Keep& keep);

// Moves the checkpoints after `step` into a folder beside that of checkpoints, `checkpoints-after-STEP`, and returns
// it; nothing where there are none. Throws as prune() does, and RuntimeError when a file call fails.
std::optional<std::filesystem::path> set_newer_aside(const std::filesystem::path& checkpoints, std::int64_t step);

}  // namespace lockstep::checkpoint
