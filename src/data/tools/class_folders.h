#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace lockstep::data {

// A folder that gets its name only when all in it is on the disk: until then it is .NAME.partial, beside it, and begins
// empty.
class FolderInMaking {
 public:
  explicit FolderInMaking(std::filesystem::path target);

  // Writes a file in it, or in a folder in it, which is made. Throws UsageError when it is there already, RuntimeError
  // when it cannot be written, or when someone has taken the folder away.
  void write(const std::filesystem::path& name, std::span<const std::byte> content);

  void finish();

 private:
  const std::filesystem::path target_, partial_;
};

}  // namespace lockstep::data
