#include "packed_partial.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

#include <fmt/format.h>

#include <lockstep/base/errors.h>

namespace lockstep::data {
namespace {

bool is_at(int fd, const std::filesystem::path& path) {
  struct stat open {
  }, named{};
  if (::fstat(fd, &open) != 0) throw system_error("cannot examine '" + path.string() + "'", errno);
  return ::lstat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

UsageError exists_already(const std::filesystem::path& target) {
  return UsageError({.message = fmt::format("'{}' exists already", target.string()),
                     .next = "remove it, choose another name, or give --replace"});
}

}  // namespace

void lock_partial(int fd, const std::filesystem::path& partial) {
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) throw system_error("cannot lock '" + partial.string() + "'", errno);
    throw UsageError(
        {.message = fmt::format("another process is writing '{}'", partial.string()), .next = "wait for its end"});
  }
  if (!is_at(fd, partial)) {
    throw UsageError({.message = fmt::format("another process has just finished '{}'", partial.string()),
                      .next = "look at what it made before you pack again"});
  }
}

UniqueFd take_partial(const std::filesystem::path& partial, const std::filesystem::path& target, bool replace) {
  if (!replace && std::filesystem::exists(target)) throw exists_already(target);
  UniqueFd fd(::open(partial.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!fd) {
    throw RuntimeError({.message = system_error("cannot write '" + partial.string() + "'", errno).what(),
                        .next = "check that the folder exists and is writable"});
  }
  lock_partial(fd.get(), partial);
  // Another process may have given the target its name since the first look.
  if (!replace && std::filesystem::exists(target)) {
    if (::lseek(fd.get(), 0, SEEK_END) == 0) ::unlink(partial.c_str());
    throw exists_already(target);
  }
  return fd;
}

}  // namespace lockstep::data
