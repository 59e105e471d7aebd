#include <lockstep/data/packed.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include <lockstep/base/fd.h>

#include "packed_view.h"

namespace lockstep::data {
namespace {

std::uint64_t size_of(int fd, const std::filesystem::path& path) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) throw system_error("cannot examine '" + path.string() + "'", errno);
  if (!S_ISREG(info.st_mode)) throw UsageError("'" + path.string() + "' is no regular file");
  return static_cast<std::uint64_t>(info.st_size);
}

}  // namespace

struct PackedSet::Mapping {
  explicit Mapping(const std::filesystem::path& file)
      : path(file), fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (!fd) {
      throw UsageError({.message = fmt::format("cannot read '{}': {}", path.string(), std::strerror(errno)),
                        .next = "check the path and its permissions"});
    }
    const std::uint64_t size = size_of(fd.get(), path);
    if (size == 0) throw PackedError("the packed file '" + path.string() + "' is empty");
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
    if (address == MAP_FAILED) throw system_error("cannot map '" + path.string() + "'", errno);
    bytes = {static_cast<const std::byte*>(address), size};
  }
  ~Mapping() { ::munmap(const_cast<std::byte*>(bytes.data()), bytes.size()); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::filesystem::path path;
  UniqueFd fd;
  std::span<const std::byte> bytes;
};

PackedSet::PackedSet(const std::filesystem::path& path)
    : mapping_(std::make_unique<const Mapping>(path)),
      view_(std::make_unique<const PackedView>(mapping_->bytes, path.string())) {
  // Samples are asked for in any order: what lies behind one is not worth reading ahead.
  ::madvise(const_cast<std::byte*>(mapping_->bytes.data()), mapping_->bytes.size(), MADV_RANDOM);
}

PackedSet::~PackedSet() = default;

std::int64_t PackedSet::size() const {
  return view_->size();
}

Picture PackedSet::get(std::int64_t index) const {
  if (const std::uint64_t now = size_of(mapping_->fd.get(), mapping_->path); now < mapping_->bytes.size()) {
    throw view_->damaged("it has become shorter while it was in use", fmt::format("{} bytes", now),
                         fmt::format("{} bytes", mapping_->bytes.size()));
  }
  return view_->get(index);
}

std::string PackedSet::name(std::int64_t index) const {
  return view_->name(index);
}

const std::vector<std::string>& PackedSet::classes() const {
  return view_->classes();
}

std::string PackedSet::source() const {
  return fmt::format("{:02x}", fmt::join(view_->header().source, ""));
}

std::uint64_t PackedSet::bytes() const {
  return mapping_->bytes.size();
}

void PackedSet::check_rest() const {
  view_->check_rest();
}

}  // namespace lockstep::data
