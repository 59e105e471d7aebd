// Which checkpoints there are, and which of them are good.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/checkpoint/manifest.h>

namespace lockstep::checkpoint {

struct Surveyed {
  std::filesystem::path folder;
  std::optional<Manifest> manifest;  // nothing when it cannot be read
  std::string problem;               // what is wrong with it; empty: every byte is as it was written
};

// Reads every byte of the checkpoints at a path: of one, if that is its folder, or of all in a folder of checkpoints,
// or in a run's; the oldest step first. Throws UsageError when there are none, RuntimeError when the folder cannot be
// read.
std::vector<Surveyed> survey(const std::filesystem::path& path);

}  // namespace lockstep::checkpoint
