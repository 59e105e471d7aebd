#include <lockstep/base/gpus.h>

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>

namespace lockstep {
namespace {

// The few functions of NVML that are asked; its ABI is stable, and its header is not needed for them.
struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
struct MemoryInfo {
  unsigned long long total, free, used;
};
using Device = void*;

class Nvml {
 public:
  Nvml() : library_(::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL), &::dlclose) {
    if (library_ == nullptr) return;
    ready_ = load(init, "nvmlInit_v2") && load(shutdown, "nvmlShutdown") && load(count, "nvmlDeviceGetCount_v2") &&
             load(handle, "nvmlDeviceGetHandleByIndex_v2") && load(name, "nvmlDeviceGetName") &&
             load(memory, "nvmlDeviceGetMemoryInfo") && load(pci, "nvmlDeviceGetPciInfo_v3") &&
             load(driver, "nvmlSystemGetDriverVersion") && init() == 0;
  }
  ~Nvml() {
    if (ready_) shutdown();
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  bool found() const { return library_ != nullptr; }
  bool ready() const { return ready_; }

  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, Device*) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*memory)(Device, MemoryInfo*) = nullptr;
  int (*pci)(Device, PciInfo*) = nullptr;
  int (*driver)(char*, unsigned) = nullptr;

 private:
  template <typename Function>
  bool load(Function& function, const char* symbol) {
    function = reinterpret_cast<Function>(::dlsym(library_.get(), symbol));
    return function != nullptr;
  }

  std::unique_ptr<void, int (*)(void*)> library_;
  bool ready_ = false;
};

}  // namespace

GpuList list_gpus() {
  GpuList list;
  const Nvml nvml;
  if (!nvml.found()) {
    list.missing = "no NVIDIA driver on this machine (libnvidia-ml.so.1); install one to use its GPUs";
    return list;
  }
  unsigned count = 0;
  if (!nvml.ready() || nvml.count(&count) != 0) {
    list.missing = "the NVIDIA driver does not answer; see nvidia-smi";
    return list;
  }
  std::array<char, 96> text{};
  if (nvml.driver(text.data(), text.size()) == 0) list.driver_version = text.data();
  for (unsigned i = 0; i < count; ++i) {
    Device device = nullptr;
    if (nvml.handle(i, &device) != 0) continue;
    Gpu gpu;
    MemoryInfo memory{};
    PciInfo pci{};
    if (nvml.name(device, text.data(), text.size()) == 0) gpu.name = text.data();
    if (nvml.memory(device, &memory) == 0) gpu.memory_bytes = memory.total;
    if (nvml.pci(device, &pci) == 0) gpu.pci_address = pci.bus_id;
    list.gpus.push_back(std::move(gpu));
  }
  if (list.gpus.empty()) list.missing = "the NVIDIA driver reports no GPU";
  return list;
}

std::vector<std::string> gpu_addresses() {
  std::vector<std::string> addresses;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", missing)) {
    addresses.push_back(entry.path().filename());
  }
  std::sort(addresses.begin(), addresses.end());
  if (!missing) return addresses;
  for (const Gpu& gpu : list_gpus().gpus) addresses.push_back(gpu.pci_address);  // as under WSL
  return addresses;
}

}  // namespace lockstep
