#include "folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/base/log.h>
#include <lockstep/base/text.h>

#include "host_name.h"

namespace lockstep {
namespace {

constexpr const char* kFile = ".lockstep.lock";
constexpr auto kBetweenTries = std::chrono::milliseconds(100);

bool has_no_locks(int error) {
  return error == ENOSYS || error == EOPNOTSUPP || error == ENOLCK;
}

// "pid 4411 on node07"
std::string holder(int fd) {
  std::array<char, 512> text;
  const ssize_t size = ::pread(fd, text.data(), text.size(), 0);
  const std::string words(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return words.empty() ? "a process that has not said who it is" : words.substr(0, words.find('\n'));
}

// Others can only read who it is; where it cannot be written, the lock holds all the same.
void sign(int fd) {
  if (::ftruncate(fd, 0) != 0) return;
  std::ignore = files::write_all(fd, fmt::format("pid {} on {}\n", ::getpid(), host_name()));
}

}  // namespace

FolderLock::FolderLock(const std::filesystem::path& folder, std::chrono::seconds limit) {
  const std::filesystem::path file = folder / kFile;
  fd_ = UniqueFd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!fd_) {
    throw RuntimeError({.message = fmt::format("cannot write into '{}': {}", folder.string(), std::strerror(errno)),
                        .next = "check that the folder is writable and has room"});
  }
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (bool told = false; ::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0;) {
    if (errno == EINTR) continue;
    if (has_no_locks(errno)) {
      log::warning("nothing keeps other processes out of '{}': {}", folder.string(), std::strerror(errno));
      return;
    }
    if (errno != EWOULDBLOCK) throw system_error(fmt::format("cannot lock '{}'", file.string()), errno);
    if (std::chrono::steady_clock::now() >= deadline) {
      throw TimeoutError({.message = fmt::format("another process writes into '{}', for more than {}", folder.string(),
                                                 format_duration(limit)),
                          .found = holder(fd_.get()),
                          .next = "wait for its end"});
    }
    if (!std::exchange(told, true)) {
      log::info("waiting up to {} for another process that writes into '{}': {}", format_duration(limit),
                folder.string(), holder(fd_.get()));
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
  sign(fd_.get());
}

}  // namespace lockstep
