// Archives, read from front to back. Nothing is ever unpacked to where an archive says.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <lockstep/base/errors.h>

struct archive;

namespace lockstep::data {

// A file or a folder in an archive.
struct ArchiveEntry {
  std::string path;  // as the archive has it
  std::uint64_t bytes = 0;
  bool is_folder = false;
};

// A tar (plain, or compressed by gzip, bzip2, xz or zstd) or zip of regular files and folders. Links and devices are
// errors.
class Archive {
 public:
  explicit Archive(const std::filesystem::path& path);

  // The archive that is the file at which `outer` stands. That must not move before this one is destroyed.
  Archive(Archive& outer, const ArchiveEntry& entry);
  ~Archive();
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  // The next file or folder; nothing at the end. Throws UsageError for what is damaged or neither.
  std::optional<ArchiveEntry> next_entry();

  // The next file.
  std::optional<ArchiveEntry> next();

  // The next bytes of the file at which it stands, as many as there are room for; none at its end. Throws UsageError
  // for what is damaged.
  std::span<std::byte> read_some(std::span<std::byte> room);

  // The content of the file at which it stands. Throws UsageError when that is more than `limit`.
  std::vector<std::byte> read(const ArchiveEntry& entry, std::uint64_t limit);

 private:
  struct Nested;

  void check(int code, const char* what) const;
  UsageError damaged(const char* what) const;

  std::string name_;  // for messages
  std::unique_ptr<Nested> nested_;
  std::unique_ptr<struct archive, int (*)(struct archive*)> reader_;
};

// The name of a file that lies at the top of an archive. Throws UsageError unless it is_plain_name(), so that it can be
// used as a name on the disk.
std::string plain_name(const ArchiveEntry& entry);

}  // namespace lockstep::data
