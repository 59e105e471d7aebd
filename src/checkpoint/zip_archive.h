// The entries of a ZIP archive that was written as torch.save writes it: stored, not compressed. Nothing is unpacked,
// so no name leads anywhere and no archive can become larger than its file.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace lockstep::checkpoint {

class ZipArchive {
 public:
  struct Entry {
    std::span<const std::byte> bytes;
    std::uint32_t checksum = 0;  // CRC-32, as ZIP has it
    bool compressed = false;     // then the bytes are not those that the checksum is of
  };

  // `content` must live as long as this; `name` is for errors. Throws UsageError for what is truncated, encrypted, of
  // several disks, for entries that overlap or lie outside of the file, and for names that come twice or lead out of a
  // folder.
  ZipArchive(std::span<const std::byte> content, std::string name);

  const std::string& name() const { return name_; }
  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }

  // Null when there is none.
  const Entry* find(std::string_view entry) const;

  // Throws UsageError when an entry is compressed.
  void require_stored() const;

  // torch.save can be told to spare the time for them; then all are 0.
  bool has_checksums() const { return has_checksums_; }

  // Whether the bytes are those that were written, as far as can be told.
  bool is_whole(const Entry& entry) const;

 private:
  std::string name_;
  std::map<std::string, Entry, std::less<>> entries_;
  bool has_checksums_ = false;
};

// CRC-32 of any number of bytes.
std::uint32_t zip_checksum(std::span<const std::byte> bytes);

}  // namespace lockstep::checkpoint
