#include "run_folder.h"

#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <map>
#include <regex>
#include <set>
#include <tuple>
#include <utility>
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
constexpr const char* kResumable = "auto, none, a run's folder, its folder of checkpoints, or one of these";

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

// When the run of a folder NAME-DATE-TIME or NAME-DATE-TIME-N began: date, time and N, which sort as runs began.
std::optional<std::tuple<std::string, int>> beginning(const std::string& folder, const std::string& name) {
  static const std::regex form("([0-9]{8}-[0-9]{6})(-([0-9]{1,6}))?");
  std::smatch parts;
  const std::string rest = folder.starts_with(name + "-") ? folder.substr(name.size() + 1) : "";
  if (!std::regex_match(rest, parts, form)) return std::nullopt;
  return std::tuple(parts[1].str(), parts[3].matched ? std::stoi(parts[3].str()) : 1);
}

// The newest run of that name that has checkpoints.
std::optional<fs::path> newest_run(const FolderRequest& request) {
  std::error_code error;
  std::map<std::tuple<std::string, int>, fs::path> folders;
  for (const auto& entry : fs::directory_iterator(request.runs, error)) {
    const auto time = beginning(entry.path().filename().string(), request.name);
    if (time && has_checkpoints(entry.path())) folders[*time] = entry.path();
  }
  return folders.empty() ? std::nullopt : std::optional(folders.rbegin()->second);
}

// What a run leaves, and another must not write over.
bool has_run(const fs::path& folder) {
  std::error_code error;
  const auto metrics = fs::file_size(folder / "metrics.jsonl", error);
  return has_checkpoints(folder) || (!error && metrics > 0);
}

bool is_of_run(const std::string& name) {
  static const std::set<std::string> names = {kCheckpoints,  "metrics.jsonl", "config.yaml", "logs",
                                              "report.html", "machine.json",  "trace.json",  "hparams"};
  return names.contains(name) || name.starts_with("events.out.tfevents.");
}

// What else is in the folder stays there.
void set_aside(const fs::path& folder) {
  const fs::path aside = folder / ("before-" + timestamp());
  std::vector<fs::path> parts;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (is_of_run(entry.path().filename().string())) parts.push_back(entry.path().filename());
  }
  fs::create_directory(aside);
  for (const fs::path& part : parts) fs::rename(folder / part, aside / part);
  log::info("what was in {} is now in {}", folder.string(), aside.string());
}

RunFolder new_run(const FolderRequest& request, bool may_move) {
  if (request.output.empty()) return {.folder = fresh_folder(request)};
  if (has_run(request.output)) {
    if (!may_move) {
      throw UsageError({.message = fmt::format("'{}' holds a run", request.output.string()),
                        .next = "give --resume auto to go on with it, --resume none to begin anew and keep it aside, "
                                "or another output"});
    }
    set_aside(request.output);
  }
  return {.folder = request.output};
}

// A checkpoint, and the run that it is of.
struct Found {
  fs::path run;  // empty: it lies by itself
  fs::path checkpoint;
};

std::optional<Found> find_newest(const FolderRequest& request) {
  const auto folder = request.output.empty() ? newest_run(request) : std::optional(request.output);
  const auto found = folder ? newest(*folder / kCheckpoints) : std::nullopt;
  return found ? std::optional(Found{*folder, *found}) : std::nullopt;
}

bool is_checkpoint(const fs::path& path) {
  return fs::exists(path / checkpoint::kManifestName);
}
bool is_run(const fs::path& path) {
  return fs::is_directory(path / kCheckpoints);
}

// The run that a checkpoint, a folder of them or a run belongs to; empty: it lies by itself.
fs::path run_of(const fs::path& path) {
  if (!is_checkpoint(path)) return is_run(path) ? path : path.parent_path();
  return path.parent_path().filename() == kCheckpoints ? path.parent_path().parent_path() : fs::path();
}

Found find_at(const fs::path& given) {
  const fs::path path = fs::weakly_canonical(given);
  if (!fs::is_directory(path)) {
    throw UsageError({.message = fmt::format("--resume: '{}' {}", given.string(),
                                             fs::exists(path) ? "is no folder" : "does not exist"),
                      .expected = kResumable});
  }
  if (is_checkpoint(path)) {
    checkpoint::verify(path);
    return {run_of(path), path};
  }
  if (const auto found = newest(is_run(path) ? path / kCheckpoints : path)) return {run_of(path), *found};
  throw UsageError(
      {.message = fmt::format("'{}' has no good checkpoint to go on from", given.string()), .expected = kResumable});
}

RunFolder go_on(const FolderRequest& request) {
  if (const auto found = find_newest(request)) return {.folder = found->run, .checkpoint = found->checkpoint};
  log::info("there is no checkpoint to go on from: a new run begins");
  // What is there is damaged, but somebody's.
  return new_run(request, /*may_move=*/true);
}

RunFolder from_path(const FolderRequest& request) {
  const Found found = find_at(request.resume);
  if (!request.output.empty()) return {.folder = request.output, .checkpoint = found.checkpoint};
  return {.folder = found.run.empty() ? fresh_folder(request) : found.run, .checkpoint = found.checkpoint};
}

bool goes_on_by_itself(const FolderRequest& request) {
  return request.resume == "auto" || (request.resume == "default" && request.is_restart);
}

RunFolder decide(const FolderRequest& request) {
  if (request.resume == "none") return new_run(request, /*may_move=*/true);
  if (goes_on_by_itself(request)) return go_on(request);
  if (request.resume == "default") return new_run(request, /*may_move=*/false);
  return from_path(request);
}

// Where the run will be, as far as that is known before its checkpoints are read.
std::optional<fs::path> known_folder(const FolderRequest& request) {
  if (!request.output.empty()) return request.output;
  if (goes_on_by_itself(request)) return newest_run(request);
  const fs::path path = fs::weakly_canonical(request.resume);
  if (request.resume == "none" || request.resume == "default" || !fs::is_directory(path)) return std::nullopt;
  const fs::path run = run_of(path);
  return run.empty() ? std::nullopt : std::optional(run);
}

FolderLock lock_of(const fs::path& folder, std::chrono::seconds patience) {
  fs::create_directories(folder);
  try {
    return FolderLock(folder, patience);
  } catch (const TimeoutError& error) {
    throw UsageError({.message = fmt::format("another run is under way in '{}'", folder.string()),
                      .found = error.parts().found,
                      .next = "wait for its end or stop it, or give this run another folder by --set output=FOLDER"});
  }
}

// Nothing in a folder is moved, and no checkpoint in it chosen, while another run may write there.
RunFolder decide_alone(const FolderRequest& request) {
  const auto known = known_folder(request);
  std::optional<FolderLock> lock;
  if (known) lock = lock_of(*known, request.patience);
  RunFolder chosen = decide(request);
  if (chosen.folder != known) lock = lock_of(chosen.folder, request.patience);
  chosen.lock = std::move(lock);
  return chosen;
}

}  // namespace

RunFolder choose_folder(const FolderRequest& request) {
  try {
    RunFolder chosen = decide_alone(request);
    fs::create_directories(chosen.folder / kCheckpoints);
    if (::access(chosen.folder.c_str(), W_OK) != 0) {
      throw system_error(fmt::format("cannot write to '{}'", chosen.folder.string()), errno);
    }
    return chosen;
  } catch (const fs::filesystem_error& error) {
    throw RuntimeError({.message = fmt::format("cannot make the folder of the run, '{}'", error.path1().string()),
                        .found = error.code().message(),
                        .next = "give another by --set output=FOLDER"});
  }
}

std::optional<fs::path> find_checkpoint(const FolderRequest& request) {
  if (request.resume == "none" || request.resume == "default") return std::nullopt;
  if (request.resume != "auto") return find_at(request.resume).checkpoint;
  if (const auto found = find_newest(request)) return found->checkpoint;
  throw UsageError({.message = "there is no checkpoint to evaluate",
                    .expected = request.output.empty()
                                    ? fmt::format("a run {}-DATE-TIME in '{}'", request.name, request.runs.string())
                                    : fmt::format("a good one in '{}'", (request.output / kCheckpoints).string()),
                    .next = "name it: --resume PATH"});
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
