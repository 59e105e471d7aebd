// Which checkpoint to go on from.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/checkpoint/checkpoint.h>

namespace lockstep::checkpoint {

struct PassedOver {
  std::filesystem::path folder;
  std::string why;
};

struct NewestGood {
  std::optional<Checkpoint> checkpoint;  // nothing when there is no good one
  std::vector<PassedOver> passed_over;   // the newer ones, from the newest on
};

// Verifies the checkpoints of a folder from the newest step to the oldest, until one is whole. A folder that is not
// there has none. Throws RuntimeError when the folder itself cannot be read.
NewestGood newest_good(const std::filesystem::path& checkpoints);

}  // namespace lockstep::checkpoint
