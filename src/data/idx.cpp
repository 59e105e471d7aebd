#include <lockstep/data/idx.h>

#define ZLIB_CONST
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>

#include <lockstep/base/damaged_file.h>
#include <lockstep/base/files.h>

namespace lockstep::data {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;
constexpr std::uint32_t kUnsignedByte = 0x08;
// No stream of deflate becomes more than this many times larger.
constexpr std::uint64_t kMaxExpansion = 1032;

bool is_gzip(std::span<const std::byte> content) {
  return content.size() >= 2 && content[0] == std::byte{0x1f} && content[1] == std::byte{0x8b};
}

// The bytes of a gzip or plain file, from its content.
class Input {
 public:
  Input(std::span<const std::byte> content, const std::string& name)
      : rest_(content), name_(name), compressed_(is_gzip(content)) {
    if (!compressed_) return;
    stream_.next_in = reinterpret_cast<const Bytef*>(content.data());
    stream_.avail_in = static_cast<uInt>(content.size());
    constexpr int kGzipWithLargestWindow = 16 + MAX_WBITS;
    if (::inflateInit2(&stream_, kGzipWithLargestWindow) != Z_OK) throw RuntimeError("zlib has no memory");
  }
  ~Input() {
    if (compressed_) ::inflateEnd(&stream_);
  }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  // Fills `target`; throws when the content ends first.
  void read(std::span<std::uint8_t> target) {
    if (some(target) < target.size()) throw bad("is truncated");
  }

  // Asking for one more byte also has zlib check the checksum.
  void require_end() {
    std::array<std::uint8_t, 1> extra{};
    if (some(extra) > 0) throw bad("is longer than its header says");
  }

  // No more than this can follow, so no more memory need be taken.
  std::uint64_t most() const { return compressed_ ? kMaxExpansion * (stream_.avail_in + 64ULL) : rest_.size(); }

  std::uint32_t read_big_endian() {
    std::array<std::uint8_t, 4> b{};
    read(b);
    return std::uint32_t{b[0]} << 24 | std::uint32_t{b[1]} << 16 | std::uint32_t{b[2]} << 8 | std::uint32_t{b[3]};
  }

  UsageError bad(const std::string& what, std::string found = "", std::string expected = "") const {
    return damaged_file(name_, what, std::move(found), std::move(expected));
  }

 private:
  // Fills `target` as far as the content goes.
  std::size_t some(std::span<std::uint8_t> target) {
    if (compressed_) return inflate_some(target);
    const std::size_t count = std::min(target.size(), rest_.size());
    if (count > 0) std::memcpy(target.data(), rest_.data(), count);
    rest_ = rest_.subspan(count);
    return count;
  }

  std::size_t inflate_some(std::span<std::uint8_t> target) {
    stream_.next_out = target.data();
    stream_.avail_out = static_cast<uInt>(target.size());
    while (stream_.avail_out > 0 && !ended_) {
      const int code = ::inflate(&stream_, Z_NO_FLUSH);
      if (code == Z_STREAM_END) {
        ended_ = stream_.avail_in == 0;
        // Files of gzip may follow each other; together they are one.
        if (!ended_) ::inflateReset(&stream_);
      } else if (code == Z_BUF_ERROR) {
        throw bad("is truncated");
      } else if (code != Z_OK) {
        throw bad("is damaged", stream_.msg != nullptr ? stream_.msg : "");
      }
    }
    return target.size() - stream_.avail_out;
  }

  std::span<const std::byte> rest_;
  const std::string& name_;
  const bool compressed_;
  bool ended_ = false;
  z_stream stream_{};
};

}  // namespace

IdxArray parse_idx(std::span<const std::byte> content, int dimensions, const std::string& name) {
  if (content.size() > kMaxBytes) throw damaged_file(name, "is larger than 1 GiB");
  Input input(content, name);
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
  if (total > input.most()) throw input.bad("is truncated");
  array.bytes.resize(total);
  input.read(array.bytes);
  input.require_end();
  return array;
}

IdxArray read_idx(const std::filesystem::path& path, int dimensions) {
  const std::string content = files::read(path, kMaxBytes);
  return parse_idx(std::as_bytes(std::span(content)), dimensions, path.string());
}

}  // namespace lockstep::data
