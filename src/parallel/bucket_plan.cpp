#include "bucket_plan.h"

#include <map>
#include <string>
#include <utility>

namespace lockstep::parallel {

std::vector<std::vector<std::size_t>> plan_buckets(std::span<const at::Tensor> parameters,
                                                   std::span<const std::size_t> order, const BucketLimits& limits) {
  struct Open {
    std::vector<std::size_t> indices;
    std::int64_t bytes = 0;
  };
  std::map<std::pair<std::string, at::ScalarType>, Open> open;
  std::vector<std::vector<std::size_t>> buckets;
  const auto close = [&](Open& bucket) {
    if (!bucket.indices.empty()) buckets.push_back(std::move(bucket.indices));
    bucket = {};
  };
  for (const std::size_t index : order) {
    const at::Tensor& parameter = parameters[index];
    const auto bytes = static_cast<std::int64_t>(parameter.nbytes());
    if (bytes >= limits.alone_bytes) {
      buckets.push_back({index});
      continue;
    }
    Open& bucket = open[{parameter.device().str(), parameter.scalar_type()}];
    bucket.indices.push_back(index);
    bucket.bytes += bytes;
    if (bucket.bytes >= (buckets.empty() ? limits.first_bytes : limits.bytes)) close(bucket);
  }
  for (auto& [kind, bucket] : open) close(bucket);
  return buckets;
}

}  // namespace lockstep::parallel
