// Archives, read from front to back. Nothing is ever unpacked to where an archive says.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct archive;

namespace lockstep::data {

// A file in an archive.
struct ArchiveEntry {
  std::string path;  // as the archive has it
  std::uint64_t bytes = 0;
};

// A tar, plain or compressed by gzip, of regular files and folders. Links and devices are errors.
class Archive {
 public:
  explicit Archive(const std::filesystem::path& path);

  // The archive that is the file at which `outer` stands. That must not move before this one is destroyed.
  Archive(Archive& outer, const ArchiveEntry& entry);
  ~Archive();
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  // The next file; nothing at the end. Throws UsageError for what is damaged or no file.
  std::optional<ArchiveEntry> next();

  // The content of the file at which it stands. Throws UsageError when that is more than `limit`.
  std::vector<std::byte> read(const ArchiveEntry& entry, std::uint64_t limit);

 private:
  struct Nested;

  void check(int code, const char* what) const;

  std::string name_;  // for messages
  std::unique_ptr<Nested> nested_;
  std::unique_ptr<struct archive, int (*)(struct archive*)> reader_;
};

// The name of a file that lies at the top of an archive. Throws UsageError unless it is_plain_name(), so that it can be
// used as a name on the disk.
std::string plain_name(const ArchiveEntry& entry);

}  // namespace lockstep::data
