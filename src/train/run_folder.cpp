#include "run_folder.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <vector>

#include <fmt/format.h>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/log.h>
#include <lockstep/checkpoint/find.h>

namespace lockstep::train {
namespace {

namespace fs = std::filesystem;
constexpr const char* kCheckpoints = "checkpoints";

std::string timestamp() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char text[sizeof("20261231-235959")];
  std::strftime(text, sizeof(text), "%Y%m%d-%H%M%S", &local);
  return text;
}

bool has_checkpoints(const fs::path& folder) {
  std::error_code error;
  return fs::is_directory(folder / kCheckpoints, error) && !fs::is_empty(folder / kCheckpoints, error);
}

// The newest that is whole.
std::optional<fs::path> newest(const fs::path& checkpoints) {
  const auto found = checkpoint::newest_good(checkpoints);
  for (const auto& passed : found.passed_over) {
    log::warning("checkpoint {} is passed over: {}", passed.folder.string(), passed.why);
  }
  return found.checkpoint ? std::optional(found.checkpoint->folder()) : std::nullopt;
}

// RUNS/NAME-DATE-TIME; a number behind it where two runs begin in one second.
fs::path fresh_folder(const FolderRequest& request) {
  fs::create_directories(request.runs);
  const std::string name = fmt::format("{}-{}", request.name, timestamp());
  constexpr int kTries = 1000;
  for (int i = 1; i <= kTries; ++i) {
    fs::path folder = request.runs / (i == 1 ? name : fmt::format("{}-{}", name, i));
    if (fs::create_directory(folder)) return folder;
  }
  throw RuntimeError(fmt::format("there are {} runs named {} already", kTries, name));
}

// The newest run of that name that has checkpoints: its folder's name ends in the time when it began.
std::optional<fs::path> newest_run(const FolderRequest& request) {
  std::error_code error;
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(request.runs, error)) {
    const std::string name = entry.path().filename().string();
    const std::string rest = name.starts_with(request.name + "-") ? name.substr(request.name.size() + 1) : "";
    const bool is_time = !rest.empty() && rest.find_first_not_of("0123456789-") == std::string::npos;
    if (is_time && has_checkpoints(entry.path())) folders.push_back(entry.path());
  }
  const auto last = std::max_element(folders.begin(), folders.end());
  return last == folders.end() ? std::nullopt : std::optional(*last);
}

RunFolder new_run(const FolderRequest& request, bool may_move) {
  if (request.output.empty()) return {.folder = fresh_folder(request)};
  if (has_checkpoints(request.output)) {
    if (!may_move) {
      throw UsageError({.message = fmt::format("'{}' holds the checkpoints of a run", request.output.string()),
                        .next = "give --resume auto to go on with it, --resume none to begin anew and keep these "
                                "aside, or another output"});
    }
    const fs::path aside = request.output / fmt::format("{}-before-{}", kCheckpoints, timestamp());
    fs::rename(request.output / kCheckpoints, aside);
    log::info("earlier checkpoints are kept in {}", aside.string());
  }
  return {.folder = request.output};
}

RunFolder go_on(const FolderRequest& request) {
  const auto folder = request.output.empty() ? newest_run(request) : std::optional(request.output);
  const auto found = folder ? newest(*folder / kCheckpoints) : std::nullopt;
  if (found) return {.folder = *folder, .checkpoint = found};
  log::info("there is no checkpoint to go on from: a new run begins");
  // What is there is damaged, but somebody's.
  return new_run(request, /*may_move=*/true);
}

RunFolder from_path(const FolderRequest& request, const fs::path& given) {
  const fs::path path = fs::weakly_canonical(given);
  const auto in_run = [&](const fs::path& run, const fs::path& checkpoint) {
    return RunFolder{.folder = request.output.empty() ? run : request.output, .checkpoint = checkpoint};
  };
  if (fs::exists(path / checkpoint::kManifestName)) {
    checkpoint::verify(path);
    const bool is_in_run = path.parent_path().filename() == kCheckpoints;
    if (is_in_run || !request.output.empty()) return in_run(path.parent_path().parent_path(), path);
    return {.folder = fresh_folder(request), .checkpoint = path};
  }
  const bool is_run = fs::is_directory(path / kCheckpoints);
  if (const auto found = newest(is_run ? path / kCheckpoints : path)) {
    return in_run(is_run ? path : path.parent_path(), *found);
  }
  throw UsageError({.message = fmt::format("'{}' has no good checkpoint to go on from", given.string()),
                    .expected = "a run's folder, its folder of checkpoints, or one of these"});
}

RunFolder decide(const FolderRequest& request) {
  if (request.resume == "none") return new_run(request, /*may_move=*/true);
  if (request.resume == "auto" || (request.resume == "default" && request.is_restart)) return go_on(request);
  if (request.resume == "default") return new_run(request, /*may_move=*/false);
  return from_path(request, request.resume);
}

}  // namespace

RunFolder choose_folder(const FolderRequest& request) {
  try {
    RunFolder chosen = decide(request);
    fs::create_directories(chosen.folder / kCheckpoints);
    if (::access(chosen.folder.c_str(), W_OK) != 0) {
      throw system_error(fmt::format("cannot write to '{}'", chosen.folder.string()), errno);
    }
    return chosen;
  } catch (const fs::filesystem_error& error) {
    throw RuntimeError({.message = fmt::format("cannot make the folder of the run: {}", error.what()),
                        .next = "give another by --set output=FOLDER"});
  }
}

bool is_restart() {
  const auto above_zero = [](const char* name) {
    const auto value = env::get(name);
    return value && std::strtol(value->c_str(), nullptr, 10) > 0;
  };
  return above_zero("TORCHELASTIC_RESTART_COUNT") || above_zero("SLURM_RESTART_COUNT") ||
         above_zero("LOCKSTEP_RESTARTS");
}

}  // namespace lockstep::train
