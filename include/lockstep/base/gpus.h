// The NVIDIA GPUs of this machine, asked through the driver's management library when there is one. Loads no CUDA and
// makes no context, so it costs milliseconds.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

struct Gpu {
  std::string name;
  std::string pci_address;
  std::uint64_t memory_bytes = 0;
};

struct GpuList {
  std::vector<Gpu> gpus;
  std::string driver_version;
  std::string missing;  // why there are none, with the next step; empty when there are some
};

GpuList list_gpus();

// Only where they are on the PCI bus, in its order: from the kernel's driver, because its management library takes tens
// of milliseconds to start.
std::vector<std::string> gpu_addresses();

}  // namespace lockstep
