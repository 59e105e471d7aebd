#pragma once
#include <chrono>
#include <filesystem>

#include <lockstep/base/fd.h>

namespace lockstep {

// Keeps other processes that take it out of a folder, until its end or that of the process, however it ends: the kernel
// holds the lock. The file that it locks, .lockstep.lock, says who has it, and stays in the folder: to remove it would
// let two in.
class FolderLock {
 public:
  // Waits for who is in. Throws TimeoutError when that lasts longer than `limit`, with the process that is in as what
  // was found; RuntimeError when the folder cannot be written to. Where the file system has no locks it goes on
  // without, and warns.
  FolderLock(const std::filesystem::path& folder, std::chrono::seconds limit);

 private:
  UniqueFd fd_;
};

}  // namespace lockstep
