#include "verify_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <vector>

#include <fmt/format.h>

#include <lockstep/base/crc32c.h>
#include <lockstep/base/fd.h>

namespace lockstep::checkpoint {
namespace {

constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;
constexpr const char* kNext = "take another checkpoint; --resume auto finds the newest that is whole";

// Takes the parts of a file from its start on.
class PartReader {
 public:
  PartReader(const std::filesystem::path& path, std::uint64_t expected_bytes)
      : path_(path),
        fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)),
        piece_(std::min<std::uint64_t>(expected_bytes, kPiece)) {
    if (!fd_) {
      const char* what = errno == ENOENT ? "is missing" : "cannot be read";
      throw UsageError(
          {.message = fmt::format("'{}' {}", path.string(), what), .found = std::strerror(errno), .next = kNext});
    }
    struct stat info {};
    if (::fstat(fd_.get(), &info) != 0) throw system_error("cannot examine '" + path.string() + "'", errno);
    if (!S_ISREG(info.st_mode)) throw UsageError(fmt::format("'{}' is not a regular file", path.string()));
    const auto bytes = static_cast<std::uint64_t>(info.st_size);
    if (bytes == expected_bytes) return;
    throw UsageError({.message = fmt::format("'{}' is {}", path.string(),
                                             bytes < expected_bytes ? "truncated" : "longer than it was written"),
                      .found = fmt::format("{} bytes", bytes),
                      .expected = fmt::format("{}", expected_bytes),
                      .next = kNext});
  }

  void expect(const std::string& part, std::uint64_t bytes, std::uint32_t checksum) {
    std::uint32_t found = 0;
    while (bytes > 0) {
      const ssize_t count = ::read(fd_.get(), piece_.data(), std::min<std::uint64_t>(bytes, piece_.size()));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw system_error(fmt::format("cannot read {} '{}'", part, path_.string()), errno);
      if (count == 0) throw UsageError(fmt::format("'{}' became shorter while it was read", path_.string()));
      found = crc32c(std::span(piece_).first(static_cast<std::size_t>(count)), found);
      bytes -= static_cast<std::uint64_t>(count);
    }
    if (found != checksum) throw damaged_part(part, path_, found, checksum);
  }

  void expect_header(const FileRecord& record) { expect("the header of", record.header_bytes, record.header_checksum); }

 private:
  const std::filesystem::path path_;
  const UniqueFd fd_;
  std::vector<std::byte> piece_;
};

}  // namespace

UsageError damaged_part(const std::string& part, const std::filesystem::path& path, std::uint32_t found,
                        std::uint32_t expected) {
  return UsageError({.message = fmt::format("{} '{}' is damaged", part, path.string()),
                     .found = fmt::format("checksum {:08x}", found),
                     .expected = fmt::format("{:08x}", expected),
                     .next = kNext});
}

void verify_header(const std::filesystem::path& path, const FileRecord& record) {
  PartReader(path, record.bytes()).expect_header(record);
}

void verify_file(const std::filesystem::path& path, const FileRecord& record) {
  PartReader reader(path, record.bytes());
  reader.expect_header(record);
  for (const TensorRecord& tensor : record.tensors) {
    reader.expect(fmt::format("tensor '{}' of", tensor.name), tensor.bytes, tensor.checksum);
  }
}

}  // namespace lockstep::checkpoint
