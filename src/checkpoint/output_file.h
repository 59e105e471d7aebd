// A new file, written from its start to its end.
#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include <lockstep/base/errors.h>
#include <lockstep/base/fd.h>

namespace lockstep::checkpoint {

// "there is no room for 'FILE': ...", with what to do.
[[nodiscard]] RuntimeError cannot_write(const std::filesystem::path& path, int error_number);

// Every function throws RuntimeError when a call fails.
class OutputFile {
 public:
  // Creates the file, which must not exist.
  explicit OutputFile(std::filesystem::path path);

  void write(std::string_view content);
  void write(std::span<const std::byte> bytes);

  // Waits until all of it is on the disk, and closes it.
  void finish();

 private:
  std::filesystem::path path_;
  UniqueFd fd_;
};

}  // namespace lockstep::checkpoint
