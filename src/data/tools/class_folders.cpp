#include "class_folders.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/fd.h>
#include <lockstep/base/files.h>

namespace lockstep::data {
namespace {

RuntimeError cannot_write(const std::filesystem::path& path, int error_number) {
  return RuntimeError({.message = fmt::format("cannot write '{}': {}", path.string(), std::strerror(error_number)),
                       .next = "make room, or check the folder, and give the same command again: it goes on"});
}

}  // namespace

FolderInMaking::FolderInMaking(std::filesystem::path target)
    : target_(std::move(target)), partial_(target_.parent_path() / ("." + target_.filename().string() + ".partial")) {
  std::error_code error;
  std::filesystem::remove_all(partial_, error);
  if (error) throw cannot_write(partial_, error.value());
  std::filesystem::create_directories(partial_, error);
  if (error) throw cannot_write(partial_, error.value());
}

void FolderInMaking::write(const std::filesystem::path& name, std::span<const std::byte> content) {
  const std::filesystem::path path = partial_ / name;
  const auto open = [&] { return UniqueFd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)); };
  UniqueFd fd = open();
  if (!fd && errno == ENOENT && name.has_parent_path()) {
    // One level: to make the whole again, empty, would hide that what was in it is gone.
    if (::mkdir(path.parent_path().c_str(), 0777) != 0) throw cannot_write(path, errno);
    fd = open();
  }
  if (!fd && errno == EEXIST) throw UsageError(fmt::format("the archive has '{}' twice", name.string()));
  if (!fd) throw cannot_write(path, errno);
  const int error = files::write_all(fd.get(), {reinterpret_cast<const char*>(content.data()), content.size()});
  if (error != 0) throw cannot_write(path, error);
}

void FolderInMaking::finish() {
  const UniqueFd fd(::open(partial_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A sync for each of a million small files would take hours; one for the file system does not.
  if (!fd || ::syncfs(fd.get()) != 0) throw cannot_write(partial_, errno);
  if (::rename(partial_.c_str(), target_.c_str()) != 0) throw cannot_write(target_, errno);
  files::sync_folder(target_.parent_path());
}

}  // namespace lockstep::data
