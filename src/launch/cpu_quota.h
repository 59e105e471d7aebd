#pragma once
#include <filesystem>
#include <optional>

namespace lockstep::launch {

// The cores' worth of time that the CPU controller of this process's cgroup and those above it grants; nothing where
// there is no limit. A container's `--cpus 2` is such a limit: it shows all cores, and stops who uses more than two.
//
// `membership` is /proc/self/cgroup, `mount` the place of the controllers' files; version 1 and version 2 are read.
std::optional<double> read_cpu_quota(const std::filesystem::path& membership = "/proc/self/cgroup",
                                     const std::filesystem::path& mount = "/sys/fs/cgroup");

}  // namespace lockstep::launch
