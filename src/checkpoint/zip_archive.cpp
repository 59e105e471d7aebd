#include "zip_archive.h"

#define ZLIB_CONST
#include <zlib.h>

#include <algorithm>
#include <optional>
#include <vector>

#include <lockstep/base/damaged_file.h>

#include "zip_format.h"

namespace lockstep::checkpoint {
namespace {

constexpr std::uint64_t kMostEntries = 1'000'000;
constexpr std::size_t kLongestName = 1024;

struct Range {
  std::uint64_t start = 0, end = 0;
  std::string name;
};

// Where the list of entries is.
struct Directory {
  std::uint64_t entries = 0, start = 0, bytes = 0;
};

class ZipReader {
 public:
  ZipReader(std::span<const std::byte> content, const std::string& name)
      : content_(reinterpret_cast<const char*>(content.data()), content.size()), bytes_(content), name_(name) {}

  std::map<std::string, ZipArchive::Entry, std::less<>> run() {
    const Directory directory = find_directory();
    if (directory.entries > kMostEntries) throw damaged("has too many entries", std::to_string(directory.entries));
    std::map<std::string, ZipArchive::Entry, std::less<>> entries;
    std::vector<Range> ranges;
    std::uint64_t at = directory.start;
    for (std::uint64_t i = 0; i < directory.entries; ++i) at = take_entry(at, directory, entries, ranges);
    if (at != directory.start + directory.bytes) throw damaged("has a list of entries of another size than it says");
    check_overlaps(ranges);
    return entries;
  }

 private:
  UsageError damaged(const std::string& what, std::string found = "") const {
    return damaged_file(name_, what, std::move(found));
  }

  // Little-endian; `at` and what follows must lie in the file, which the parts' sizes have made sure of.
  std::uint64_t number(std::uint64_t at, std::size_t bytes) const {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      value |= std::uint64_t{static_cast<std::uint8_t>(content_[at + i])} << (8 * i);
    }
    return value;
  }

  bool has_part(std::uint64_t at, const zip::Part& part, std::uint64_t end) const {
    return at <= end && end - at >= part.size && content_.substr(at, part.signature.size()) == part.signature;
  }

  // The last part, behind which is only a comment, whose length it says.
  std::uint64_t find_end() const {
    constexpr std::size_t kLongestComment = 0xffff;
    for (std::size_t comment = 0; comment <= kLongestComment; ++comment) {
      if (content_.size() < zip::kEnd.size + comment) break;
      const std::uint64_t at = content_.size() - zip::kEnd.size - comment;
      if (has_part(at, zip::kEnd, content_.size()) && number(at + 20, 2) == comment) return at;
    }
    throw damaged("is truncated: the end of its ZIP archive is missing");
  }

  Directory find_directory() const {
    const std::uint64_t end = find_end();
    if (number(end + 4, 2) != 0 || number(end + 6, 2) != 0) throw damaged("is a part of an archive of several disks");
    Directory directory{.entries = number(end + 10, 2), .start = number(end + 16, 4), .bytes = number(end + 12, 4)};
    std::uint64_t limit = end;
    if (end >= zip::kEnd64Locator.size && has_part(end - zip::kEnd64Locator.size, zip::kEnd64Locator, end)) {
      limit = number(end - zip::kEnd64Locator.size + 8, 8);
      if (!has_part(limit, zip::kEnd64, end)) throw damaged("has a ZIP directory that is not where it says");
      const auto choose = [&](std::uint64_t& value, std::uint64_t saturated, std::uint64_t large) {
        if (value != saturated && value != large) throw damaged("has two ZIP directories that differ");
        value = large;
      };
      choose(directory.entries, zip::kInLarge16, number(limit + 32, 8));
      choose(directory.bytes, zip::kInLarge32, number(limit + 40, 8));
      choose(directory.start, zip::kInLarge32, number(limit + 48, 8));
    }
    // Nothing is between the list and what ends it, so nothing can be hidden there.
    if (directory.start > limit || limit - directory.start != directory.bytes) {
      throw damaged("has a ZIP directory that does not fit the file");
    }
    return directory;
  }

  // Returns where the next one begins.
  std::uint64_t take_entry(std::uint64_t at, const Directory& directory,
                           std::map<std::string, ZipArchive::Entry, std::less<>>& entries,
                           std::vector<Range>& ranges) const {
    const std::uint64_t end = directory.start + directory.bytes;
    if (!has_part(at, zip::kCentralHeader, end)) throw damaged("has a damaged list of entries");
    const std::uint64_t name_bytes = number(at + 28, 2), extra_bytes = number(at + 30, 2), comment = number(at + 32, 2);
    const std::uint64_t names = at + zip::kCentralHeader.size, next = names + name_bytes + extra_bytes + comment;
    if (next > end) throw damaged("has a damaged list of entries");
    std::string name(content_.substr(names, name_bytes));
    check_name(name);
    if ((number(at + 8, 2) & zip::kEncrypted) != 0) throw damaged(fmt::format("has an encrypted entry '{}'", name));
    const bool is_compressed = number(at + 10, 2) != zip::kStored;
    // What the file holds of it, what that would become, and where it is.
    std::uint64_t size = number(at + 20, 4), unpacked = number(at + 24, 4), start = number(at + 42, 4);
    take_large(content_.substr(names + name_bytes, extra_bytes), {&unpacked, &size, &start}, name);
    if (!is_compressed && unpacked != size) throw damaged(fmt::format("has two sizes for entry '{}'", name));
    const std::uint64_t data = data_start(start, name, directory.start);
    if (size > directory.start - data) throw damaged(fmt::format("has an entry '{}' that lies outside of it", name));
    ranges.push_back({.start = start, .end = data + size, .name = name});
    const ZipArchive::Entry entry{.bytes = bytes_.subspan(data, size),
                                  .checksum = static_cast<std::uint32_t>(number(at + 16, 4)),
                                  .compressed = is_compressed};
    if (!entries.emplace(name, entry).second) throw damaged(fmt::format("has two entries '{}'", name));
    return next;
  }

  // Nothing is written to where a name leads. One that leads out of a folder was made for no good, all the same.
  void check_name(const std::string& name) const {
    const std::string inside = fmt::format("/{}/", name);
    const bool good = !name.empty() && name.size() <= kLongestName && name.front() != '/' &&
                      name.find('\0') == std::string::npos && inside.find("/../") == std::string::npos;
    if (!good) throw damaged("has an entry with a name that is not allowed", name.substr(0, kLongestName));
  }

  // Sizes and places beyond 32 bits stand in an extra field, those that are too large and no others.
  void take_large(std::string_view extra, std::initializer_list<std::uint64_t*> values, const std::string& name) const {
    std::string_view field;
    while (extra.size() >= 4) {
      const auto at = static_cast<std::uint64_t>(extra.data() - content_.data());
      const std::uint64_t id = number(at, 2), length = number(at + 2, 2);
      if (length > extra.size() - 4) throw damaged(fmt::format("has an entry '{}' with a damaged field", name));
      if (id == zip::kLargeField) field = extra.substr(4, length);
      extra.remove_prefix(4 + length);
    }
    for (std::uint64_t* value : values) {
      if (*value != zip::kInLarge32) continue;
      if (field.size() < 8) throw damaged(fmt::format("has an entry '{}' without its size", name));
      *value = number(static_cast<std::uint64_t>(field.data() - content_.data()), 8);
      field.remove_prefix(8);
    }
  }

  std::uint64_t data_start(std::uint64_t header, const std::string& name, std::uint64_t limit) const {
    if (!has_part(header, zip::kLocalHeader, limit))
      throw damaged(fmt::format("has no entry '{}' where it says", name));
    const std::uint64_t names = header + zip::kLocalHeader.size, length = number(header + 26, 2);
    const std::uint64_t data = names + length + number(header + 28, 2);
    if (data > limit || content_.substr(names, length) != name) {
      throw damaged(fmt::format("has two names for entry '{}'", name));
    }
    return data;
  }

  void check_overlaps(std::vector<Range>& ranges) const {
    std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.start < b.start; });
    for (std::size_t i = 1; i < ranges.size(); ++i) {
      if (ranges[i].start >= ranges[i - 1].end) continue;
      throw damaged(fmt::format("has entries that overlap: '{}' and '{}'", ranges[i - 1].name, ranges[i].name));
    }
  }

  const std::string_view content_;
  const std::span<const std::byte> bytes_;
  const std::string& name_;
};

}  // namespace

ZipArchive::ZipArchive(std::span<const std::byte> content, std::string name)
    : name_(std::move(name)),
      entries_(ZipReader(content, name_).run()),
      has_checksums_(std::any_of(entries_.begin(), entries_.end(),
                                 [](const auto& entry) { return entry.second.checksum != 0; })) {}

const ZipArchive::Entry* ZipArchive::find(std::string_view entry) const {
  const auto found = entries_.find(entry);
  return found == entries_.end() ? nullptr : &found->second;
}

void ZipArchive::require_stored() const {
  for (const auto& [entry_name, entry] : entries_) {
    if (!entry.compressed) continue;
    throw UsageError({.message = fmt::format("'{}' has a compressed entry '{}'", name_, entry_name),
                      .expected = "stored ones, as torch.save writes them",
                      .next = "write it with torch.save"});
  }
}

bool ZipArchive::is_whole(const Entry& entry) const {
  return !has_checksums_ || zip_checksum(entry.bytes) == entry.checksum;
}

std::uint32_t zip_checksum(std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace lockstep::checkpoint
