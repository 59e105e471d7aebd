#include <lockstep/base/run_program.h>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/fd.h>
#include <lockstep/base/files.h>
#include <lockstep/base/text.h>

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostErrors = 4096;

class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }

  void duplicate(int from, int to) { ::posix_spawn_file_actions_adddup2(&actions_, from, to); }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

// A child that is ended and waited for, whatever happens.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ >= 0) end();
  }

  bool ends_before(Clock::time_point deadline) const;

  int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

  void end() {
    ::kill(pid_, SIGKILL);
    wait();
  }

 private:
  pid_t pid_;
};

// Whether there is something to read, or the end, before the deadline.
bool can_read(int fd, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return false;
    pollfd waited{.fd = fd, .events = POLLIN, .revents = 0};
    if (::poll(&waited, 1, static_cast<int>(left.count())) > 0) return true;
  }
}

bool Child::ends_before(Clock::time_point deadline) const {
  const UniqueFd end(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (!end) throw system_error("cannot watch a program that was started", errno);
  return can_read(end.get(), deadline);
}

// In memory, because a pipe would fill up while nobody reads it.
UniqueFd memory_file(unsigned flags = 0) {
  UniqueFd fd(::memfd_create("lockstep-program", MFD_CLOEXEC | flags));
  if (!fd) throw system_error("cannot make a file in memory", errno);
  return fd;
}

UniqueFd file_with(const std::string& content) {
  UniqueFd fd = memory_file();
  if (const int error = files::write_all(fd.get(), content)) throw system_error("cannot write a file in memory", error);
  ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

// Writes behind its end fail.
UniqueFd file_of_size(std::size_t size) {
  UniqueFd fd = memory_file(MFD_ALLOW_SEALING);
  if (::ftruncate(fd.get(), static_cast<off_t>(size)) != 0 || ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_GROW) != 0) {
    throw system_error("cannot make a file in memory", errno);
  }
  return fd;
}

std::string text_in(const UniqueFd& fd) {
  std::string text(kMostErrors, '\0');
  const ssize_t count = ::pread(fd.get(), text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return text.substr(0, text.find('\0'));
}

// Reads until the other end is closed. False when the deadline comes first.
bool read_output(int pipe, Clock::time_point deadline, std::size_t most, std::string& output) {
  std::array<char, 65536> buffer{};
  while (output.size() <= most) {
    if (!can_read(pipe, deadline)) return false;
    const ssize_t count = ::read(pipe, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    output.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

ProgramResult run_program(const std::vector<std::string>& words, const ProgramOptions& options) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw system_error("cannot make a pipe", errno);
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  const UniqueFd input = file_with(options.input), errors = file_of_size(kMostErrors);
  FileActions files;
  files.duplicate(input.get(), STDIN_FILENO);
  files.duplicate(writing.get(), STDOUT_FILENO);
  files.duplicate(errors.get(), STDERR_FILENO);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, arguments[0], files.get(), nullptr, arguments.data(), environ);
  if (error == ENOENT) return {.found = false, .complaint = "there is no such program"};
  if (error != 0) throw system_error(fmt::format("cannot start '{}'", words.front()), error);
  Child child(pid);
  writing.reset();

  const auto deadline = Clock::now() + options.time;
  ProgramResult result;
  const bool closed = read_output(reading.get(), deadline, options.most_output, result.output);
  if (result.output.size() > options.most_output) {
    child.end();
    result.complaint = fmt::format("it wrote more than {}", format_bytes(options.most_output));
  } else if (!closed || !child.ends_before(deadline)) {
    child.end();
    result.timed_out = true;
    result.complaint = fmt::format("it did not end within {}", format_duration(options.time));
  } else if (const int status = child.wait(); !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    result.complaint = WIFEXITED(status) ? fmt::format("it ended with exit code {}", WEXITSTATUS(status))
                                         : fmt::format("it was ended by signal {}", WTERMSIG(status));
  }
  result.errors = text_in(errors);
  return result;
}

}  // namespace lockstep
