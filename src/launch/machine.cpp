#include <lockstep/launch/machine.h>

#include <algorithm>
#include <cstdlib>

#include <lockstep/base/gpus.h>

#include "cpu_quota.h"
#include "gpu_locality.h"

namespace lockstep::launch {

int Machine::busy_cores() const {
  const auto count = static_cast<int>(cores.size());
  return std::max(1, cpu_quota && *cpu_quota < count ? static_cast<int>(*cpu_quota) : count);
}

Machine read_machine() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");  // empty is not the same as not set: it hides all
  std::vector<NearGpu> all;
  for (const std::string& address : gpu_addresses()) all.push_back(locate_gpu(address));
  Machine machine{
      .cores = read_topology().usable,
      .gpus = visible_gpus(all, visible == nullptr ? std::nullopt : std::optional<std::string>(visible)),
      .cpu_quota = read_cpu_quota(),
  };
  machine.hidden_gpus = static_cast<int>(all.size() - std::min(all.size(), machine.gpus.size()));
  return machine;
}

}  // namespace lockstep::launch
