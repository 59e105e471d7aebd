#pragma once
#include <string>
#include <vector>

namespace lockstep::train {

// Who makes ranks agree: DistributedDataParallel, DistributedOptimizer, DistributedDataParallel with a
// ZeroRedundancyOptimizer, DataParallel (one process, every device), sync_gradients after backward, or nobody: then
// ranks meet once in each step (what waiting for one another costs by itself), or not at all.
enum class Mode { kDdp, kOptimizer, kZero, kDataParallel, kSync, kBarrier, kNone };

// "ddp", "optimizer", "zero", "data-parallel", "sync", "barrier", "none"
const std::vector<std::string>& mode_names();

// UsageError for another name, with the nearest.
Mode parse_mode(const std::string& name);
std::string to_text(Mode mode);

}  // namespace lockstep::train
