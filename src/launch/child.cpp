#include <lockstep/launch/child.h>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/launch/pipe.h>

namespace lockstep::launch {
namespace {

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& string : strings) result.push_back(string.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> merged_environment(const Variables& additions) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!additions.contains(text.substr(0, text.find('=')))) merged.push_back(text);
  }
  for (const auto& [name, value] : additions) merged.push_back(fmt::format("{}={}", name, value));
  return merged;
}

// All that the child needs between fork and exec, where nothing may be allocated.
struct Plan {
  const char* program;
  char* const* argv;
  char* const* envp;
  const ChildOptions& options;
  int null;
  int report;  // takes errno when exec fails
  pid_t launcher;
};

// Only async-signal-safe calls.
[[noreturn]] void become(const Plan& plan) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  bool ready = ::getppid() == plan.launcher;  // else it died before the line above
  ready = ready && ::dup2(plan.options.in < 0 ? plan.null : plan.options.in, STDIN_FILENO) >= 0;
  ready = ready && (plan.options.out < 0 || ::dup2(plan.options.out, STDOUT_FILENO) >= 0);
  ready = ready && (plan.options.err < 0 || ::dup2(plan.options.err, STDERR_FILENO) >= 0);
  for (const int fd : plan.options.inherited) ready = ready && ::fcntl(fd, F_SETFD, 0) == 0;
  if (ready) errno = plan.options.affinity.apply();
  if (ready && errno == 0) {
    for (const int number : {SIGPIPE, SIGTTOU}) ::signal(number, SIG_DFL);  // the launcher ignores them
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execve(plan.program, plan.argv, plan.envp);
  }
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(plan.report, &error, sizeof(error));
  ::_exit(127);
}

UniqueFd open_pidfd(pid_t pid) {
#ifdef SYS_pidfd_open
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
#else
  return {};
#endif
}

}  // namespace

Child::Child(const ChildOptions& options) {
  std::vector<std::string> arguments = options.command;
  std::vector<std::string> environment = merged_environment(options.environment);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(environment);
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null) throw system_error("cannot open /dev/null", errno);
  Pipe report = make_pipe();

  const Plan plan{.program = options.program.c_str(),
                  .argv = argv.data(),
                  .envp = envp.data(),
                  .options = options,
                  .null = null.get(),
                  .report = report.write_end.get(),
                  .launcher = ::getpid()};
  pid_ = ::fork();
  if (pid_ < 0) throw system_error("cannot start another process", errno);
  if (pid_ == 0) become(plan);
  running_ = true;
  ::setpgid(pid_, pid_);  // in the child too: whoever comes first
  end_fd_ = open_pidfd(pid_);

  // The pipe closes at exec; what arrives before that is why exec failed.
  report.write_end.reset();
  int error = 0;
  ssize_t count = 0;
  while ((count = ::read(report.read_end.get(), &error, sizeof(error))) < 0 && errno == EINTR) {
  }
  if (count == sizeof(error)) {
    ::waitpid(pid_, nullptr, 0);
    running_ = false;
    throw RuntimeError({.message = system_error("cannot execute '" + options.program.string() + "'", error).what(),
                        .next = error == ENOEXEC ? "a script needs a first line such as #!/bin/sh" : ""});
  }
}

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
