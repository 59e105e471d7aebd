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

// A core that this process may use.
struct Core {
  std::vector<int> cpus;  // its hardware threads, by the system's numbers: those that this process may use
  int numa_node = 0;
  int package = 0;
};

struct Topology {
  int packages = 0;
  int cores = 0;
  int hardware_threads = 0;
  std::vector<NumaNode> numa_nodes;
  std::vector<Core> usable;  // those of the affinity mask and cgroup that this process has; neighbours share the most

  int usable_cores() const { return static_cast<int>(usable.size()); }
};

// Throws RuntimeError when hwloc cannot read the machine.
Topology read_topology();

// A machine that is not here, in hwloc's words: "pack:2 numa:1 core:28 pu:2". All of it is usable. Throws UsageError
// when hwloc does not understand it.
Topology describe_topology(const std::string& synthetic);

}  // namespace lockstep
