#include <lockstep/checkpoint/find.h>

#include <algorithm>

#include <fmt/format.h>

#include <lockstep/base/in_short.h>

#include "folders.h"

namespace lockstep::checkpoint {
namespace {

Checkpoint open_verified(const std::filesystem::path& folder, std::int64_t step) {
  verify(folder);
  Checkpoint checkpoint(folder);
  if (checkpoint.manifest().step == step) return checkpoint;
  throw UsageError({.message = fmt::format("'{}' is a checkpoint of another step than its name", folder.string()),
                    .found = std::to_string(checkpoint.manifest().step),
                    .expected = std::to_string(step)});
}

}  // namespace

NewestGood newest_good(const std::filesystem::path& checkpoints) {
  NewestGood result;
  std::vector<std::int64_t> steps = steps_in(checkpoints);
  std::reverse(steps.begin(), steps.end());
  for (const std::int64_t step : steps) {
    const auto folder = checkpoint_folder(checkpoints, step);
    try {
      result.checkpoint.emplace(open_verified(folder, step));
      return result;
    } catch (const Error& error) {
      result.passed_over.push_back({.folder = folder, .why = in_short(error)});
    }
  }
  return result;
}

}  // namespace lockstep::checkpoint
