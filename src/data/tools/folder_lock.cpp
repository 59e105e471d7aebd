#include "folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/log.h>
#include <lockstep/base/text.h>

namespace lockstep::data {
namespace {

constexpr const char* kFile = ".lockstep.lock";
constexpr auto kBetweenTries = std::chrono::milliseconds(100);

}  // namespace

FolderLock::FolderLock(const std::filesystem::path& folder, std::chrono::seconds limit) {
  const std::filesystem::path file = folder / kFile;
  fd_ = UniqueFd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!fd_) {
    throw RuntimeError({.message = fmt::format("cannot write into '{}': {}", folder.string(), std::strerror(errno)),
                        .next = "check that the folder is writable and has room"});
  }
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (bool told = false; ::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0; told = true) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) throw system_error(fmt::format("cannot lock '{}'", file.string()), errno);
    if (std::chrono::steady_clock::now() >= deadline) {
      throw TimeoutError({.message = fmt::format("another process writes into '{}', for more than {}", folder.string(),
                                                 format_duration(limit)),
                          .next = fmt::format("wait for it, or see who holds it: fuser '{}'", file.string())});
    }
    if (!told) log::info("waiting for another process that writes into '{}'", folder.string());
    std::this_thread::sleep_for(kBetweenTries);
  }
}

}  // namespace lockstep::data
