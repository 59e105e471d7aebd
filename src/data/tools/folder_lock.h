#pragma once
#include <chrono>
#include <filesystem>

#include <lockstep/base/fd.h>

namespace lockstep::data {

// Keeps others who fetch or prepare out of a folder, until its end or that of the process. The file that it locks stays
// in the folder: to remove it would let two in.
class FolderLock {
 public:
  // Waits for those who are in. Throws TimeoutError when that lasts longer than `limit`, RuntimeError when the folder
  // cannot be written to.
  FolderLock(const std::filesystem::path& folder, std::chrono::seconds limit);

 private:
  UniqueFd fd_;
};

}  // namespace lockstep::data
