#include <lockstep/checkpoint/survey.h>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/checkpoint/checkpoint.h>

#include "folders.h"

namespace lockstep::checkpoint {
namespace {

Surveyed survey_one(const std::filesystem::path& folder) {
  Surveyed result{.folder = folder, .manifest = {}, .problem = ""};
  try {
    result.manifest = read_manifest(folder);
    verify(folder);
  } catch (const Error& error) {
    result.problem = error.what();
  }
  return result;
}

}  // namespace

std::vector<Surveyed> survey(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::exists(path / kManifestName, error)) return {survey_one(path)};
  for (const std::filesystem::path& folder : {path / "checkpoints", path}) {
    if (!std::filesystem::is_directory(folder, error)) continue;
    std::vector<Surveyed> results;
    for (const std::int64_t step : steps_in(folder)) results.push_back(survey_one(checkpoint_folder(folder, step)));
    if (!results.empty()) return results;
  }
  throw UsageError({.message = fmt::format("there is no checkpoint in '{}'", path.string()),
                    .expected = "the folder of a checkpoint, of checkpoints, or of a run"});
}

}  // namespace lockstep::checkpoint
