#include "run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/fd.h>
#include <lockstep/base/text.h>

namespace lockstep::tensorboard {
namespace {

using Clock = std::chrono::steady_clock;

class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }

  void open_nothing_as(int fd) { ::posix_spawn_file_actions_addopen(&actions_, fd, "/dev/null", O_RDWR, 0); }
  void duplicate(int from, int to) { ::posix_spawn_file_actions_adddup2(&actions_, from, to); }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

// Reads until the other end is closed; returns what went wrong.
std::string read_output(int pipe, const ProgramLimits& limits, std::string& output) {
  const auto deadline = Clock::now() + limits.time;
  std::array<char, 65536> buffer{};
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return fmt::format("it did not end within {}", format_duration(limits.time));
    pollfd waited{.fd = pipe, .events = POLLIN, .revents = 0};
    if (::poll(&waited, 1, static_cast<int>(left.count())) <= 0) continue;
    const ssize_t count = ::read(pipe, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return "";
    output.append(buffer.data(), static_cast<std::size_t>(count));
    if (output.size() > limits.output) return fmt::format("it wrote more than {}", format_bytes(limits.output));
  }
}

int wait_for_end(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

ProgramResult run_program(const std::vector<std::string>& words, const ProgramLimits& limits) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw system_error("cannot make a pipe", errno);
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  FileActions files;
  files.open_nothing_as(STDIN_FILENO);
  files.duplicate(writing.get(), STDOUT_FILENO);
  files.open_nothing_as(STDERR_FILENO);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, arguments[0], files.get(), nullptr, arguments.data(), environ);
  if (error == ENOENT) return {.found = false, .complaint = "there is no such program"};
  if (error != 0) throw system_error(fmt::format("cannot start '{}'", words.front()), error);
  writing.reset();

  ProgramResult result;
  result.complaint = read_output(reading.get(), limits, result.output);
  // It has closed its output, so it is at its end; or it is to be ended.
  if (!result.complaint.empty()) ::kill(pid, SIGKILL);
  const int status = wait_for_end(pid);
  if (result.complaint.empty() && (!WIFEXITED(status) || WEXITSTATUS(status) != 0)) {
    result.complaint = WIFEXITED(status) ? fmt::format("it ended with exit code {}", WEXITSTATUS(status))
                                         : fmt::format("it was ended by signal {}", WTERMSIG(status));
  }
  return result;
}

}  // namespace lockstep::tensorboard
