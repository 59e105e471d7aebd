#include <lockstep/data/fetch_once.h>

#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>

namespace lockstep::data {
namespace {

constexpr int kRunning = -1;

pid_t start(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const int error = ::posix_spawn(&child, argv[0], nullptr, nullptr, argv.data(), environ);
  if (error != 0) throw system_error(fmt::format("cannot start '{}'", words[0]), error);
  return child;
}

// The child's exit code, or kRunning when it has not ended within a second.
int look_at(pid_t child) {
  using namespace std::chrono_literals;
  for (const auto end = std::chrono::steady_clock::now() + 1s; std::chrono::steady_clock::now() < end;) {
    int status = 0;
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended < 0 && errno != EINTR) throw system_error("cannot wait for lockstep data fetch", errno);
    if (ended == child) return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    std::this_thread::sleep_for(20ms);
  }
  return kRunning;
}

}  // namespace

void fetch_once(const Group& group, const std::string& set, const std::filesystem::path& folder,
                const std::vector<std::string>& flags) {
  pid_t child = 0;
  std::int64_t code = kRunning;
  if (group.rank() == 0) {
    std::vector<std::string> words = {(files::installation_folder() / "bin/lockstep").string(), "data", "fetch"};
    words.insert(words.end(), flags.begin(), flags.end());
    words.insert(words.end(), {set, folder.string()});
    try {
      child = start(std::move(words));
    } catch (const Error& error) {
      report_error({group.rank(), group.size()}, error);
      code = kExitFailure;
    }
  }
  // Word of it every second, so that nobody's deadline passes while it lasts.
  for (;;) {
    if (group.rank() == 0 && child != 0) code = look_at(child);
    const std::int64_t said = group.all_reduce_value(group.rank() == 0 ? code : kRunning, Reduce::kMax);
    if (said == kExitSuccess) return;
    if (said != kRunning) {
      throw RuntimeError(
          {.message = fmt::format("the data set '{}' could not be brought to '{}'", set, folder.string()),
           .found = fmt::format("exit code {} of lockstep data fetch on rank 0", said),
           .next = "see what rank 0 printed"});
    }
  }
}

}  // namespace lockstep::data
