#pragma once
#include <filesystem>

#include <lockstep/base/fd.h>

namespace lockstep::checkpoint {

// Held by the one process that changes a folder of checkpoints; the kernel releases it when the process ends, however
// it does. So temporary names that its holder finds belong to nobody.
class WriterLock {
 public:
  // Throws UsageError when another process has it, RuntimeError when the folder cannot be opened. Where the file system
  // has no locks it goes on without.
  explicit WriterLock(const std::filesystem::path& checkpoints);

 private:
  UniqueFd fd_;
};

}  // namespace lockstep::checkpoint
