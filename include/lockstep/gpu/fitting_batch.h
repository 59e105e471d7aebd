// What to say when a batch does not fit.
#pragma once
#include <cstdint>
#include <functional>

#include <c10/core/Device.h>

namespace lockstep::gpu {

struct BatchPeak {
  std::int64_t batch = 0;
  std::int64_t bytes = 0;  // the most that was in use during a step
};

// The largest batch for `available` bytes, if memory grows with the batch as between the two; a multiple of 8 where it
// is more than 8. 0 if not even one sample fits.
std::int64_t fitting_batch(const BatchPeak& small, const BatchPeak& large, std::int64_t available);

// Runs `step`. If the device has not the memory for it, throws UsageError with an estimate of the batch that would fit:
// `step_of` makes what trains with a batch of that size, does some steps of it and ends it, and is called for two small
// batches.
void explain_lack_of_memory(at::Device device, std::int64_t batch, const std::function<void()>& step,
                            const std::function<void(std::int64_t)>& step_of);

}  // namespace lockstep::gpu
