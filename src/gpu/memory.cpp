#include <lockstep/gpu/memory.h>

#include <ATen/DeviceAccelerator.h>

namespace lockstep::gpu {

Memory memory(at::Device device) {
  const auto stats = at::accelerator::getDeviceStats(device.index());
  const auto [free, total] = at::accelerator::getMemoryInfo(device.index());
  constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return {.allocated = stats.allocated_bytes[kAll].current,
          .peak = stats.allocated_bytes[kAll].peak,
          .reserved = stats.reserved_bytes[kAll].current,
          .free = static_cast<std::int64_t>(free),
          .total = static_cast<std::int64_t>(total)};
}

void reset_peak_memory(at::Device device) {
  at::accelerator::resetPeakStats(device.index());
}

void release_unused_memory() {
  at::accelerator::emptyCache();
}

}  // namespace lockstep::gpu
