#pragma once
#include <cstdint>
#include <filesystem>

namespace lockstep::train {

struct MemoryFiles {
  std::filesystem::path system = "/proc/meminfo";
  std::filesystem::path membership = "/proc/self/cgroup";
  std::filesystem::path groups = "/sys/fs/cgroup";
};

// Bytes that processes can still take: from the system, and from the limit of this process's control group (version 2)
// and of those above it, where pages of files that can be dropped count as free. At least 1; 0: nobody tells.
std::uint64_t available_memory(const MemoryFiles& files = {});

}  // namespace lockstep::train
