#include <lockstep/gpu/fitting_batch.h>

#include <algorithm>
#include <optional>

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>
#include <lockstep/gpu/memory.h>
#include <lockstep/gpu/work_stream.h>

namespace lockstep::gpu {
namespace {

constexpr double kUsable = 0.95;    // of the memory: the allocator cannot put everything side by side
constexpr std::int64_t kLanes = 8;  // what tensor cores like to have a multiple of

BatchPeak measure(at::Device device, std::int64_t batch, const std::function<void(std::int64_t)>& step_of) {
  release_unused_memory();
  reset_peak_memory(device);
  step_of(batch);
  finish(device);
  return {.batch = batch, .bytes = memory(device).peak};
}

// Nothing where the device is so full that not even small batches fit.
std::optional<std::int64_t> estimate(at::Device device, std::int64_t batch,
                                     const std::function<void(std::int64_t)>& step_of) {
  const std::int64_t large = std::max<std::int64_t>(batch / 8, 2), small = std::max<std::int64_t>(large / 2, 1);
  try {
    const BatchPeak first = measure(device, small, step_of), second = measure(device, large, step_of);
    release_unused_memory();
    return fitting_batch(first, second,
                         static_cast<std::int64_t>(kUsable * static_cast<double>(memory(device).available())));
  } catch (const c10::OutOfMemoryError&) {
    return std::nullopt;
  }
}

}  // namespace

std::int64_t fitting_batch(const BatchPeak& small, const BatchPeak& large, std::int64_t available) {
  const double per_sample =
      std::max(static_cast<double>(large.bytes - small.bytes) / static_cast<double>(large.batch - small.batch), 1.0);
  const double fixed = static_cast<double>(small.bytes) - per_sample * static_cast<double>(small.batch);
  const double fits = (static_cast<double>(available) - fixed) / per_sample;
  const auto batch = static_cast<std::int64_t>(std::clamp(fits, 0.0, 1e15));
  return batch > kLanes ? batch / kLanes * kLanes : batch;
}

void explain_lack_of_memory(at::Device device, std::int64_t batch, const std::function<void()>& step,
                            const std::function<void(std::int64_t)>& step_of) {
  try {
    return step();
  } catch (const c10::OutOfMemoryError&) {  // what failed must be gone before the estimate
  }
  const std::optional<std::int64_t> fits = estimate(device, batch, step_of);
  const Memory now = memory(device);
  throw UsageError(
      {.message = fmt::format("a batch of {} does not fit into the memory of {}", batch, device.str()),
       .found = fmt::format("{} in all, {} of it free", format_bytes(static_cast<std::uint64_t>(now.total)),
                            format_bytes(static_cast<std::uint64_t>(now.available()))),
       .next = fits && *fits > 0 && *fits < batch
                   ? fmt::format("take a batch of about {}, by what smaller ones needed", *fits)
                   : "take a much smaller batch, or see whether another process uses the GPU"});
}

}  // namespace lockstep::gpu
