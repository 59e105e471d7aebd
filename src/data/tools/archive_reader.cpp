#include "archive_reader.h"

#include <archive.h>
#include <archive_entry.h>

#include <cerrno>

#include <fmt/format.h>

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
  ::archive_read_support_format_zip(reader_.get());
  ::archive_read_support_filter_gzip(reader_.get());
  ::archive_read_support_filter_bzip2(reader_.get());
  ::archive_read_support_filter_xz(reader_.get());
  ::archive_read_support_filter_zstd(reader_.get());
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
  if (code != ARCHIVE_OK && code != ARCHIVE_WARN) throw damaged(what);
}

UsageError Archive::damaged(const char* what) const {
  const char* reason = ::archive_error_string(reader_.get());
  return UsageError({.message = fmt::format("'{}' {}", name_, what),
                     .found = reason != nullptr ? reason : "",
                     .next = "compare its size and checksum with where it came from"});
}

std::optional<ArchiveEntry> Archive::next_entry() {
  ::archive_entry* entry = nullptr;
  const int code = ::archive_read_next_header(reader_.get(), &entry);
  if (code == ARCHIVE_EOF) return std::nullopt;
  check(code, "is damaged, or no archive");
  const char* path = ::archive_entry_pathname(entry);
  const auto type = ::archive_entry_filetype(entry);
  if (path == nullptr) throw UsageError(fmt::format("'{}' has a file without a name", name_));
  if ((type != AE_IFREG && type != AE_IFDIR) || ::archive_entry_hardlink(entry) != nullptr ||
      ::archive_entry_size(entry) < 0) {
    throw UsageError(
        {.message = fmt::format("'{}' has something that is no file: links and devices are refused", name_),
         .found = path,
         .expected = "files and folders only"});
  }
  return ArchiveEntry{
      .path = path, .bytes = static_cast<std::uint64_t>(::archive_entry_size(entry)), .is_folder = type == AE_IFDIR};
}

std::optional<ArchiveEntry> Archive::next() {
  auto entry = next_entry();
  while (entry && entry->is_folder) entry = next_entry();
  return entry;
}

std::span<std::byte> Archive::read_some(std::span<std::byte> room) {
  const la_ssize_t count = ::archive_read_data(reader_.get(), room.data(), room.size());
  if (count < 0) throw damaged("is damaged");
  return room.first(static_cast<std::size_t>(count));
}

std::vector<std::byte> Archive::read(const ArchiveEntry& entry, std::uint64_t limit) {
  if (entry.bytes > limit) {
    throw UsageError({.message = fmt::format("'{}' in '{}' is larger than it may be", entry.path, name_),
                      .found = format_bytes(entry.bytes),
                      .expected = "at most " + format_bytes(limit)});
  }
  std::vector<std::byte> content(entry.bytes);
  for (std::size_t done = 0; done < content.size();) {
    const std::size_t count = read_some(std::span(content).subspan(done)).size();
    if (count == 0) throw UsageError(fmt::format("'{}' ends inside '{}'", name_, entry.path));
    done += count;
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
