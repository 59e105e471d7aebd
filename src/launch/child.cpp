#include "child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/fd.h>

namespace lockstep::launch {
namespace {

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& string : strings) result.push_back(string.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> merged_environment(const Child::Environment& additions) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!additions.contains(text.substr(0, text.find('=')))) merged.push_back(text);
  }
  for (const auto& [name, value] : additions) merged.push_back(fmt::format("{}={}", name, value));
  return merged;
}

// Runs in the child between fork and exec, where only async-signal-safe calls are allowed. Writes errno to `report`.
[[noreturn]] void become(const char* program, char* const* argv, char* const* envp, pid_t launcher, int inherited,
                         const AffinityMask& affinity, int report) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  errno = affinity.apply();
  if (errno == 0 && ::getppid() == launcher) {  // else it died before the line above
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::fcntl(inherited, F_SETFD, 0);
    ::execve(program, argv, envp);
  }
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(report, &error, sizeof(error));
  ::_exit(127);
}

}  // namespace

Child::Child(const std::filesystem::path& program, const std::vector<std::string>& command,
             const Environment& additions, int inherited, const AffinityMask& affinity) {
  std::vector<std::string> arguments = command;
  std::vector<std::string> environment = merged_environment(additions);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(environment);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw system_error("cannot make a pipe", errno);
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);

  const pid_t launcher = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw system_error("cannot start another process", errno);
  if (pid_ == 0) become(program.c_str(), argv.data(), envp.data(), launcher, inherited, affinity, write_end.get());
  running_ = true;
  ::setpgid(pid_, pid_);  // in the child too: whoever comes first

  // The pipe closes at exec; what arrives before that is why exec failed.
  write_end.reset();
  int error = 0;
  ssize_t count = 0;
  while ((count = ::read(read_end.get(), &error, sizeof(error))) < 0 && errno == EINTR) {
  }
  if (count == sizeof(error)) {
    ::waitpid(pid_, nullptr, 0);
    running_ = false;
    throw RuntimeError({.message = system_error("cannot execute '" + program.string() + "'", error).what(),
                        .next = error == ENOEXEC ? "a script needs a first line such as #!/bin/sh" : ""});
  }
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), running_(std::exchange(other.running_, false)), started_(other.started_) {}

Child::~Child() {
  if (!running_) return;
  signal(SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

std::optional<ChildEnd> Child::poll() {
  if (!running_) return std::nullopt;
  siginfo_t info{};
  // WNOWAIT keeps the pid, and with it the group's number, from being reused until the group is dead.
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
    return std::nullopt;
  }
  ::kill(-pid_, SIGKILL);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  running_ = false;
  if (WIFSIGNALED(status)) return ChildEnd{.exit_code = 128 + WTERMSIG(status), .signal = WTERMSIG(status)};
  return ChildEnd{.exit_code = WEXITSTATUS(status)};
}

void Child::signal(int number) const {
  if (running_) ::kill(-pid_, number);
}

}  // namespace lockstep::launch
