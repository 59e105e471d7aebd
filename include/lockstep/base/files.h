// Files read with a limit and written so that a crash leaves either the old content or the new, never a part of it.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace lockstep::files {

inline constexpr std::uint64_t kDefaultReadLimit = std::uint64_t{1} << 30;

// The whole content. Throws UsageError when the file is missing, is no regular file, or is larger than `limit`;
// RuntimeError when reading fails.
std::string read(const std::filesystem::path& path, std::uint64_t limit = kDefaultReadLimit);

// Replaces or creates `path`: temporary name in the same folder, write, fsync, rename, fsync of the folder. On an error
// the temporary file is removed and `path` is as it was.
void write_atomically(const std::filesystem::path& path, std::string_view content, mode_t mode = 0644);

// The parts of that, for files that are too large to be written at once. The first returns errno when it fails, else 0;
// the second throws RuntimeError.
[[nodiscard]] int write_all(int fd, std::string_view content);
void sync_folder(const std::filesystem::path& folder);

// SHA-256 in hexadecimal: of bytes in memory, and of a file of any size, read in pieces.
std::string sha256(std::string_view content);
std::string sha256_of_file(const std::filesystem::path& path);

// MD5 of a file, for those who publish no other: it finds damage, but no forger.
std::string md5_of_file(const std::filesystem::path& path);

// The folder of the running program, links resolved.
std::filesystem::path program_folder();

// The folder above the bin/ or lib/ that this code was loaded from: the root of the installation, or of the build tree,
// which has the same shape.
std::filesystem::path installation_folder();

}  // namespace lockstep::files
