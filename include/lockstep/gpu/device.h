#pragma once
#include <c10/core/Device.h>

namespace lockstep::gpu {

// Whether there is one that this process can use.
bool has_gpu();

// The GPU for the rank of that number on its node: the one of the same number among those that the process sees, from
// the first again where they are fewer, as where each rank sees its own alone. It becomes the current one of this
// thread. Throws UsageError where there is no GPU, or no plugin for them.
at::Device use_gpu(int local_rank);

// `device` with a number: that of the current one, where it has none.
at::Device with_index(at::Device device);

}  // namespace lockstep::gpu
