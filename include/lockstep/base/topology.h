// The machine's cores and memory, and the part of them that this process may use.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

struct NumaNode {
  int number = 0;
  std::string cpus;  // "0-27,56-83"
  std::uint64_t memory_bytes = 0;
};

struct Topology {
  int packages = 0;
  int cores = 0;
  int hardware_threads = 0;
  int usable_cores = 0;  // those of the affinity mask and cgroup that this process has
  std::vector<NumaNode> numa_nodes;
};

// Throws RuntimeError when hwloc cannot read the machine.
Topology read_topology();

}  // namespace lockstep
