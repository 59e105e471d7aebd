#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <fmt/format.h>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>

#include "courier.h"

namespace lockstep::comm {
namespace {

namespace fs = std::filesystem;
constexpr auto kLook = std::chrono::milliseconds(20);
constexpr std::uint64_t kLongestText = 4096;

struct Process {
  std::string name;
  std::string parent;
  std::string start;  // in ticks since the machine started; with the number it names a process for good
};

std::optional<Process> read_process(const std::string& pid) {
  std::string text;
  std::getline(std::ifstream("/proc/" + pid + "/stat"), text);
  const std::size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return {};
  std::istringstream fields(text.substr(close + 1));
  Process process{.name = text.substr(open + 1, close - open - 1), .parent = {}, .start = {}};
  constexpr int kStart = 20;  // of the fields behind the name
  std::string field;
  for (int i = 1; fields >> field && i <= kStart; ++i) {
    if (i == 2) process.parent = field;
    if (i == kStart) process.start = field;
  }
  return process;
}

// Hydra gives its jobs no name, but all ranks of a node descend from one proxy.
std::string hydra_job() {
  std::string pid = std::to_string(::getpid());
  while (const auto process = read_process(pid)) {
    if (process->name.starts_with("hydra_pmi_prox")) return fmt::format("hydra-{}-{}", pid, process->start);
    pid = process->parent;
  }
  return {};
}

// What the launcher calls the job; nothing when it has no name.
std::string launchers_name(const Placement& placement) {
  if (const auto job = env::get("SLURM_JOB_ID"), step = env::get("SLURM_STEP_ID"); job && step) {
    return fmt::format("slurm-{}.{}", *job, *step);
  }
  if (const auto job = env::get("OMPI_MCA_ess_base_jobid")) return "ompi-" + *job;
  if (const auto job = env::get("PMIX_NAMESPACE")) return "pmix-" + *job;
  if (const auto job = env::get("PALS_APID")) return "pals-" + *job;
  if (const auto job = env::get("ALPS_APP_ID")) return "alps-" + *job;
  return placement.on_one_node() ? hydra_job() : "";
}

fs::path choose_folder(const Placement& placement) {
  if (const auto folder = env::get("LOCKSTEP_MEETING_DIR")) return *folder;
  if (placement.on_one_node()) {
    if (const auto folder = env::get("XDG_RUNTIME_DIR")) return fs::path(*folder) / "lockstep";
    return fmt::format("/tmp/lockstep-{}", ::geteuid());
  }
  const auto home = env::get("HOME");
  if (!home) {
    throw UsageError({.message = "ranks on several nodes meet through a file, and HOME is not set",
                      .next = "set LOCKSTEP_MEETING_DIR to a folder that all nodes share"});
  }
  return fs::path(*home) / ".lockstep/meetings";
}

// Whoever owns the folder could replace the file in it.
void require_own_folder(const fs::path& folder) {
  std::error_code ignored;
  fs::create_directories(folder.parent_path(), ignored);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    throw system_error("cannot make the folder '" + folder.string() + "' for ranks to meet", errno);
  }
  struct stat info {};
  if (::lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() ||
      (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    throw UsageError({.message = "the folder '" + folder.string() + "' is not safe for ranks to meet in",
                      .expected = "a folder of this user's that others cannot write to",
                      .next = "chmod 700 it, or set LOCKSTEP_MEETING_DIR to another"});
  }
}

// The folder is this user's, and a file is made there under another name and then renamed: one that is there is whole.
std::string read_when_there(const fs::path& path, std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (!fs::exists(path)) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw TimeoutError({.message = "rank 0 has not said where to meet",
                          .found = "'" + path.string() + "' is not there",
                          .next = "see whether rank 0 started; on several nodes LOCKSTEP_MEETING_DIR must be a folder "
                                  "that all of them share"});
    }
    std::this_thread::sleep_for(kLook);
  }
  return files::read(path, kLongestText);
}

struct RemovedAtEnd {
  explicit RemovedAtEnd(fs::path file) : path(std::move(file)) {}
  RemovedAtEnd(const RemovedAtEnd&) = delete;
  RemovedAtEnd& operator=(const RemovedAtEnd&) = delete;
  ~RemovedAtEnd() {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
  fs::path path;
};

}  // namespace

Courier make_file_courier(const Placement& placement, std::chrono::milliseconds timeout) {
  const std::string job = launchers_name(placement);
  if (job.empty()) return {};
  static int meetings = 0;  // a process may meet the others again, for a second World; all count alike
  const fs::path path = choose_folder(placement) / fmt::format("{}-{}", job, meetings++);
  require_own_folder(path.parent_path());
  if (placement.rank.rank != 0) return [path, timeout](const std::string&) { return read_when_there(path, timeout); };
  auto file = std::make_shared<RemovedAtEnd>(path);
  return [file](const std::string& text) {
    files::write_atomically(file->path, text, 0600);
    return text;
  };
}

}  // namespace lockstep::comm
