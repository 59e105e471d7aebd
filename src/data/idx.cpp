#include <lockstep/data/idx.h>

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include <lockstep/base/errors.h>

namespace lockstep::data {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;
constexpr std::uint32_t kUnsignedByte = 0x08;

// A gzip or plain file whose every failure becomes an error with the file's name.
class Input {
 public:
  explicit Input(const std::filesystem::path& path) : path_(path.string()), file_(nullptr, &::gzclose) {
    errno = 0;
    if (std::filesystem::is_directory(path)) errno = EISDIR;
    if (errno == 0) file_.reset(::gzopen(path_.c_str(), "rb"));
    if (file_ == nullptr) {
      throw UsageError({.message = fmt::format("cannot read '{}': {}", path_, std::strerror(errno)),
                        .next = "check the folder given with --data"});
    }
  }

  // Fills `target`; throws when the file ends first.
  void read(void* target, std::size_t size) {
    auto* next = static_cast<char*>(target);
    while (size > 0) {
      const auto piece = static_cast<unsigned>(std::min<std::size_t>(size, 1U << 30));
      const int count = ::gzread(file_.get(), next, piece);
      if (count < 0) throw damaged();
      if (count == 0) throw bad("is truncated");
      next += count;
      size -= static_cast<std::size_t>(count);
    }
  }

  // At the true end gzread has also checked the checksum.
  void require_end() {
    char extra = 0;
    const int count = ::gzread(file_.get(), &extra, 1);
    if (count < 0) throw damaged();
    if (count > 0) throw bad("is longer than its header says");
    int code = Z_OK;
    ::gzerror(file_.get(), &code);
    if (code != Z_OK) throw damaged();
  }

  std::uint32_t read_big_endian() {
    std::array<std::uint8_t, 4> b{};
    read(b.data(), b.size());
    return std::uint32_t{b[0]} << 24 | std::uint32_t{b[1]} << 16 | std::uint32_t{b[2]} << 8 | std::uint32_t{b[3]};
  }

  UsageError bad(const std::string& what, std::string found = "", std::string expected = "") const {
    return UsageError({.message = fmt::format("'{}' {}", path_, what),
                       .found = std::move(found),
                       .expected = std::move(expected),
                       .next = "bring the file again from where it came"});
  }

 private:
  UsageError damaged() const {
    int code = Z_OK;
    const char* text = ::gzerror(file_.get(), &code);
    // zlib reports a file that ends inside its compressed stream this way.
    if (code == Z_BUF_ERROR) return bad("is truncated");
    return bad("is damaged", code == Z_ERRNO ? std::strerror(errno) : text);
  }

  std::string path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile_s*)> file_;
};

}  // namespace

IdxArray read_idx(const std::filesystem::path& path, int dimensions) {
  Input input(path);
  const std::uint32_t expected_magic = kUnsignedByte << 8 | static_cast<std::uint32_t>(dimensions);
  if (const std::uint32_t magic = input.read_big_endian(); magic != expected_magic) {
    throw input.bad("is not the idx file it should be", fmt::format("magic number 0x{:08x}", magic),
                    fmt::format("0x{:08x}", expected_magic));
  }
  IdxArray array;
  std::uint64_t total = 1;
  for (int i = 0; i < dimensions; ++i) {
    const std::uint32_t size = input.read_big_endian();
    if (size == 0 || size > kMaxBytes / total) {
      throw input.bad("has a size that makes no sense", fmt::format("{} in dimension {}", size, i),
                      fmt::format("at least 1, and at most {} bytes in all", kMaxBytes));
    }
    total *= size;
    array.sizes.push_back(size);
  }
  array.bytes.resize(total);
  input.read(array.bytes.data(), array.bytes.size());
  input.require_end();
  return array;
}

}  // namespace lockstep::data
