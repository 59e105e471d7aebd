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

// Which parameters travel together: lists of indices into `parameters`, in the order in which they are reduced. `order`
// is the order in which gradients become ready. A bucket has one type
// and one device; it is closed when it has reached its limit.
std::vector<std::vector<std::size_t>> plan_buckets(std::span<const at::Tensor> parameters,
                                                   std::span<const std::size_t> order, const BucketLimits& limits);

}  // namespace lockstep::parallel
