#include "mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/fd.h>

namespace lockstep::data {

MappedFile map_file(const std::filesystem::path& path) {
  // A pipe or a device must be refused, not waited for.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) {
    throw UsageError({.message = fmt::format("cannot read '{}': {}", path.string(), std::strerror(errno)),
                      .next = "check the path and its permissions"});
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) throw system_error(fmt::format("cannot examine '{}'", path.string()), errno);
  if (!S_ISREG(info.st_mode)) throw UsageError(fmt::format("'{}' is not a regular file", path.string()));
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return {};  // which cannot be mapped
  void* start = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (start == MAP_FAILED) throw system_error(fmt::format("cannot map '{}'", path.string()), errno);
  return {.bytes = {static_cast<const std::byte*>(start), size},
          .owner = {start, [size](void* mapped) { ::munmap(mapped, size); }}};
}

}  // namespace lockstep::data
