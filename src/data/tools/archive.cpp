#include "archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <cerrno>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>
#include <lockstep/data/tools/catalog.h>

namespace lockstep::data {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 18;

}  // namespace

// What libarchive needs to read one archive out of another.
struct Archive::Nested {
  ::archive* outer = nullptr;
  std::vector<std::byte> block = std::vector<std::byte>(kBlock);

  static la_ssize_t read(::archive* inner, void* self, const void** block) {
    auto* nested = static_cast<Nested*>(self);
    *block = nested->block.data();
    const la_ssize_t count = ::archive_read_data(nested->outer, nested->block.data(), nested->block.size());
    if (count < 0) {
      const char* reason = ::archive_error_string(nested->outer);
      ::archive_set_error(inner, EIO, "%s", reason != nullptr ? reason : "the outer archive is damaged");
      return ARCHIVE_FATAL;
    }
    return count;
  }
};

Archive::Archive(const std::filesystem::path& path)
    : name_(path.string()), reader_(::archive_read_new(), &::archive_read_free) {
  ::archive_read_support_format_tar(reader_.get());
  ::archive_read_support_filter_gzip(reader_.get());
  check(::archive_read_open_filename(reader_.get(), path.c_str(), kBlock), "cannot be read");
}

Archive::Archive(Archive& outer, const ArchiveEntry& entry)
    : name_(outer.name_ + ", " + entry.path),
      nested_(std::make_unique<Nested>()),
      reader_(::archive_read_new(), &::archive_read_free) {
  nested_->outer = outer.reader_.get();
  ::archive_read_support_format_tar(reader_.get());
  check(::archive_read_open(reader_.get(), nested_.get(), nullptr, &Nested::read, nullptr), "cannot be read");
}

Archive::~Archive() = default;

void Archive::check(int code, const char* what) const {
  if (code == ARCHIVE_OK || code == ARCHIVE_WARN) return;
  const char* reason = ::archive_error_string(reader_.get());
  throw UsageError({.message = fmt::format("'{}' {}", name_, what),
                    .found = reason != nullptr ? reason : "",
                    .next = "compare its size and checksum with where it came from"});
}

std::optional<ArchiveEntry> Archive::next() {
  for (;;) {
    ::archive_entry* entry = nullptr;
    const int code = ::archive_read_next_header(reader_.get(), &entry);
    if (code == ARCHIVE_EOF) return std::nullopt;
    check(code, "is damaged, or no tar");
    const char* path = ::archive_entry_pathname(entry);
    const auto type = ::archive_entry_filetype(entry);
    if (path == nullptr) throw UsageError(fmt::format("'{}' has a file without a name", name_));
    if (type == AE_IFDIR) continue;
    if (type != AE_IFREG || ::archive_entry_hardlink(entry) != nullptr || ::archive_entry_size(entry) < 0) {
      throw UsageError({.message = fmt::format("'{}' has something that is no file", name_),
                        .found = path,
                        .expected = "files and folders only"});
    }
    return ArchiveEntry{.path = path, .bytes = static_cast<std::uint64_t>(::archive_entry_size(entry))};
  }
}

std::vector<std::byte> Archive::read(const ArchiveEntry& entry, std::uint64_t limit) {
  if (entry.bytes > limit) {
    throw UsageError({.message = fmt::format("'{}' in '{}' is larger than it may be", entry.path, name_),
                      .found = format_bytes(entry.bytes),
                      .expected = "at most " + format_bytes(limit)});
  }
  std::vector<std::byte> content(entry.bytes);
  std::size_t done = 0;
  while (done < content.size()) {
    const la_ssize_t count = ::archive_read_data(reader_.get(), content.data() + done, content.size() - done);
    if (count < 0) check(static_cast<int>(count), "is damaged");
    if (count <= 0) throw UsageError(fmt::format("'{}' ends inside '{}'", name_, entry.path));
    done += static_cast<std::size_t>(count);
  }
  return content;
}

std::string plain_name(const ArchiveEntry& entry) {
  std::string name = entry.path.starts_with("./") ? entry.path.substr(2) : entry.path;
  if (!is_plain_name(name)) {
    throw UsageError({.message = "an archive has a file with a name that is not trusted",
                      .found = entry.path.substr(0, 200),
                      .expected = "a plain file name"});
  }
  return name;
}

}  // namespace lockstep::data
