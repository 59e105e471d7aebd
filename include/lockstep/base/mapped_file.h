#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include <lockstep/base/fd.h>

namespace lockstep {

// A whole file in memory, read by the kernel when it is looked at, and shared with all who map it.
struct MappedFile {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  // unmapped with the last of its copies
  UniqueFd fd;                        // of the same file, whatever its path has become
};

// Throws UsageError when the file is missing or no regular file.
MappedFile map_file(const std::filesystem::path& path);

// How long the file is now.
std::size_t size_now(const MappedFile& file);

}  // namespace lockstep
