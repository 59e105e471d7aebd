#include <lockstep/base/mapped_file.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/fd.h>

namespace lockstep {
namespace {

struct stat examine(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) throw system_error("cannot examine a file that is open", errno);
  return info;
}

}  // namespace

MappedFile map_file(const std::filesystem::path& path) {
  // A pipe or a device must be refused, not waited for.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) {
    throw UsageError({.message = fmt::format("cannot read '{}': {}", path.string(), std::strerror(errno)),
                      .next = "check the path and its permissions"});
  }
  const struct stat info = examine(fd.get());
  if (!S_ISREG(info.st_mode)) throw UsageError(fmt::format("'{}' is not a regular file", path.string()));
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return {.bytes = {}, .owner = {}, .fd = std::move(fd)};  // which cannot be mapped
  void* start = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (start == MAP_FAILED) throw system_error(fmt::format("cannot map '{}'", path.string()), errno);
  return {.bytes = {static_cast<const std::byte*>(start), size},
          .owner = {start, [size](void* mapped) { ::munmap(mapped, size); }},
          .fd = std::move(fd)};
}

std::size_t size_now(const MappedFile& file) {
  return static_cast<std::size_t>(examine(file.fd.get()).st_size);
}

}  // namespace lockstep
