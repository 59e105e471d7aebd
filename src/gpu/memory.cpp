#include <lockstep/gpu/memory.h>

#include <ATen/Context.h>
#include <ATen/DeviceAccelerator.h>

namespace lockstep::gpu {
namespace {

// The allocator knows of no device before libtorch has begun with CUDA.
void begin(at::Device device) {
  at::globalContext().lazyInitDevice(device.type());
}

}  // namespace

Memory memory(at::Device device) {
  begin(device);
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
  begin(device);
  at::accelerator::resetPeakStats(device.index());
}

void release_unused_memory() {
  at::accelerator::emptyCache();
}

}  // namespace lockstep::gpu
