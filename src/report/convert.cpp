#include "convert.h"

#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/fd.h>
#include <lockstep/base/files.h>

namespace lockstep::report {
namespace {

constexpr int kLimitMilliseconds = 60'000;

// In memory, because a pipe would fill up while nobody reads it.
UniqueFd memory_file(const std::string& content) {
  UniqueFd fd(::memfd_create("lockstep-report", MFD_CLOEXEC));
  if (!fd) throw system_error("cannot make a file in memory", errno);
  if (const int error = files::write_all(fd.get(), content)) throw system_error("cannot write a file in memory", error);
  ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

std::string content_of(const UniqueFd& fd) {
  std::string text;
  std::array<char, 1 << 16> buffer{};
  off_t offset = 0;
  for (ssize_t count = 0; (count = ::pread(fd.get(), buffer.data(), buffer.size(), offset)) > 0; offset += count) {
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return text;
}

// A child that is ended and waited for, whatever happens.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    wait();
  }

  // False when it does not end within the limit.
  bool ends_in_time() const {
    const UniqueFd end(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
    if (!end) throw system_error("cannot watch rsvg-convert", errno);
    pollfd watched{.fd = end.get(), .events = POLLIN, .revents = 0};
    int count = 0;
    while ((count = ::poll(&watched, 1, kLimitMilliseconds)) < 0 && errno == EINTR) {
    }
    return count > 0;
  }

  int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_;
};

pid_t start(const UniqueFd& in, const UniqueFd& out, const UniqueFd& complaints) {
  posix_spawn_file_actions_t actions{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, complaints.get(), STDERR_FILENO);
  std::string name = "rsvg-convert", zoom = "--zoom=2", format = "--format=png";
  const std::array<char*, 4> argv = {name.data(), zoom.data(), format.data(), nullptr};
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, name.c_str(), &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) {
    throw RuntimeError({.message = "pictures need rsvg-convert, which is not in PATH",
                        .next = "install the package librsvg2-bin (librsvg2-tools with dnf), or leave --png away"});
  }
  if (error != 0) throw system_error("cannot start rsvg-convert", error);
  return pid;
}

}  // namespace

std::string svg_to_png(const std::string& svg) {
  const UniqueFd in = memory_file(svg), out = memory_file(""), complaints = memory_file("");
  Child child(start(in, out, complaints));
  if (!child.ends_in_time()) {
    throw TimeoutError(fmt::format("rsvg-convert did not end within {} s", kLimitMilliseconds / 1000));
  }
  const int status = child.wait();
  std::string png = content_of(out);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || png.empty()) {
    throw RuntimeError({.message = "rsvg-convert made no picture",
                        .found = content_of(complaints).substr(0, 500),
                        .next = "try it without --png; the page has the same plots"});
  }
  return png;
}

}  // namespace lockstep::report
