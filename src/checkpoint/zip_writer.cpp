#include "zip_writer.h"

#include <algorithm>

#include "little_endian.h"
#include "zip_archive.h"
#include "zip_format.h"

namespace lockstep::checkpoint {
namespace {

constexpr std::uint64_t kAlignment = 64;
constexpr std::uint64_t kOldVersion = 20, kVersionWithLarge = 45;  // of ZIP, that a reader must know
constexpr std::size_t kFieldHead = 4;                              // of an extra field: which it is, and its length

// The value, or the mark that it stands elsewhere.
std::string small16(std::uint64_t value) {
  return little_endian(std::min<std::uint64_t>(value, zip::kInLarge16), 2);
}
std::string small32(std::uint64_t value) {
  return little_endian(std::min<std::uint64_t>(value, zip::kInLarge32), 4);
}

std::string field(std::uint16_t id, const std::string& content) {
  return little_endian(id, 2) + little_endian(content.size(), 2) + content;
}

std::string large_field(std::initializer_list<std::uint64_t> values) {
  std::string content;
  for (const std::uint64_t value : values) {
    if (value >= zip::kInLarge32) content += little_endian(value, 8);
  }
  return content.empty() ? "" : field(zip::kLargeField, content);
}

// What headers of both kinds have: version, flags, method, time and date, checksum, sizes, and the lengths of the name
// and of the extra fields.
std::string common_header(const std::string& name, std::uint64_t size, std::uint32_t checksum,
                          const std::string& extra) {
  const std::uint64_t version = extra.starts_with(little_endian(zip::kLargeField, 2)) ? kVersionWithLarge : kOldVersion;
  return little_endian(version, 2) + little_endian(zip::kNamesAreUtf8, 2) + little_endian(zip::kStored, 2) +
         little_endian(0, 4) + little_endian(checksum, 4) + small32(size) + small32(size) +
         little_endian(name.size(), 2) + little_endian(extra.size(), 2);
}

}  // namespace

void ZipWriter::write(std::string_view text) {
  file_.write(text);
  position_ += text.size();
}

void ZipWriter::add(const std::string& name, std::span<const std::byte> bytes) {
  const Entry entry{.name = name, .start = position_, .size = bytes.size(), .checksum = zip_checksum(bytes)};
  // Both sizes must be there where one is.
  std::string extra = large_field({entry.size, entry.size});
  const std::uint64_t unpadded = position_ + zip::kLocalHeader.size + name.size() + extra.size() + kFieldHead;
  extra += field(zip::kPaddingField, std::string((kAlignment - unpadded % kAlignment) % kAlignment, 'Z'));
  write(std::string(zip::kLocalHeader.signature) + common_header(name, entry.size, entry.checksum, extra) + name +
        extra);
  file_.write(bytes);
  position_ += bytes.size();
  entries_.push_back(entry);
}

void ZipWriter::finish() {
  const std::uint64_t start = position_;
  for (const Entry& entry : entries_) {
    const std::string extra = large_field({entry.size, entry.size, entry.start});
    write(std::string(zip::kCentralHeader.signature) + little_endian(kVersionWithLarge, 2) +
          common_header(entry.name, entry.size, entry.checksum, extra) + little_endian(0, 2) /* comment */ +
          little_endian(0, 2) /* disk */ + little_endian(0, 2) + little_endian(0, 4) /* attributes */ +
          small32(entry.start) + entry.name + extra);
  }
  const std::uint64_t end = position_, bytes = end - start, count = entries_.size();
  write(std::string(zip::kEnd64.signature) + little_endian(zip::kEnd64.size - 12, 8) +
        little_endian(kVersionWithLarge, 2) + little_endian(kVersionWithLarge, 2) + little_endian(0, 4) +
        little_endian(0, 4) + little_endian(count, 8) + little_endian(count, 8) + little_endian(bytes, 8) +
        little_endian(start, 8));
  write(std::string(zip::kEnd64Locator.signature) + little_endian(0, 4) + little_endian(end, 8) + little_endian(1, 4));
  write(std::string(zip::kEnd.signature) + little_endian(0, 2) + little_endian(0, 2) + small16(count) + small16(count) +
        small32(bytes) + small32(start) + little_endian(0, 2));
}

}  // namespace lockstep::checkpoint
