// What of a machine matters for placing ranks on it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <lockstep/base/topology.h>

namespace lockstep::launch {

struct NearGpu {
  std::string pci_address;
  std::vector<int> cpus;  // the hardware threads next to it; empty: unknown
};

struct Machine {
  std::vector<Core> cores;          // those that this process may use; neighbours share the most
  std::vector<NearGpu> gpus;        // as a program sees them: number i is its cuda:i
  int hidden_gpus = 0;              // those that CUDA_VISIBLE_DEVICES leaves out, which another job may use
  std::optional<double> cpu_quota;  // the cores' worth of time that the cgroup grants, where it has a limit

  // The cores that can be busy at the same time: at least one, and no more than the quota pays for.
  int busy_cores() const;
};

// Throws RuntimeError when hwloc cannot read it.
Machine read_machine();

}  // namespace lockstep::launch
