#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

namespace lockstep::parallel {

struct BucketLimits {
  std::int64_t first_bytes = 0;
  std::int64_t bytes = 0;
  std::int64_t alone_bytes = 0;  // a parameter of this size has a bucket of its own
};

// For what is sent now, not as it becomes ready: from a megabyte on a tensor travels alone, where it lies. Copying it
// would cost more than a call saves.
inline constexpr BucketLimits kSmallTogether{.first_bytes = 4 << 20, .bytes = 4 << 20, .alone_bytes = 1 << 20};

// Which parameters travel together: lists of indices into `parameters`, in the order in which they are reduced. `order`
// is the order in which gradients become ready. A bucket has one type and one device; it is closed when it has reached
// its limit.
std::vector<std::vector<std::size_t>> plan_buckets(std::span<const at::Tensor> parameters,
                                                   std::span<const std::size_t> order, const BucketLimits& limits);

}  // namespace lockstep::parallel
