#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/launch/machine.h>

namespace lockstep::launch {

// The hardware threads next to the device, as the kernel tells them below `devices`. Empty where it does not.
NearGpu locate_gpu(const std::string& pci_address, const std::filesystem::path& devices = "/sys/bus/pci/devices");

// The GPUs that CUDA_VISIBLE_DEVICES leaves, in its order. CUDA stops reading at the first number that is no GPU. A
// list of names ("GPU-8932f937") is not understood: nothing is left then, and ranks are placed as if there were no
// GPUs.
std::vector<NearGpu> visible_gpus(const std::vector<NearGpu>& all, const std::optional<std::string>& variable);

}  // namespace lockstep::launch
