#include "parameter_shares.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_copy.h>

#include "bucket_plan.h"
#include "flat_buffer.h"
#include "traced_collective.h"

namespace lockstep::parallel {
std::vector<int> divide_by_size(std::span<const at::Tensor> parameters, int ranks) {
  std::vector<std::size_t> order(parameters.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return parameters[a].nbytes() > parameters[b].nbytes(); });
  std::vector<std::size_t> bytes(static_cast<std::size_t>(ranks));
  std::vector<int> owners(parameters.size());
  for (const std::size_t i : order) {
    const auto least = std::min_element(bytes.begin(), bytes.end());
    *least += parameters[i].nbytes();
    owners[i] = static_cast<int>(least - bytes.begin());
  }
  return owners;
}

ParameterShares::ParameterShares(std::span<const at::Tensor> parameters, const std::vector<int>& owners) {
  if (parameters.empty()) return;
  const int last = *std::max_element(owners.begin(), owners.end());
  for (int owner = 0; owner <= last; ++owner) {
    std::vector<std::size_t> owned;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (owners[i] == owner) owned.push_back(i);
    }
    for (const auto& members : plan_buckets(parameters, owned, kSmallTogether)) {
      Part part{.owner = owner};
      for (const std::size_t member : members) part.parameters.push_back(parameters[member].detach());
      if (members.size() > 1 || !part.parameters.front().is_non_overlapping_and_dense()) {
        std::tie(part.buffer, part.views) = flat_buffer(part.parameters, part.parameters.front().scalar_type());
      }
      parts_.push_back(std::move(part));
    }
  }
}

void ParameterShares::publish(const Group& group) {
  if (parts_.empty()) return;  // a model without buffers has no broadcasts on its timeline
  const at::NoGradGuard no_gradients;
  std::size_t bytes = 0;
  for (const Part& part : parts_) {
    for (const at::Tensor& parameter : part.parameters) bytes += parameter.nbytes();
  }
  const TracedWait traced("broadcast", "broadcast.wait", bytes);
  std::vector<Work> works;
  for (const Part& part : parts_) {
    if (part.buffer.defined() && part.owner == group.rank()) at::_foreach_copy_(part.views, part.parameters);
    works.push_back(group.broadcast_async(part.buffer.defined() ? part.buffer : part.parameters.front(), part.owner));
  }
  for (std::size_t i = 0; i < works.size(); ++i) {
    works[i].wait();
    const Part& part = parts_[i];
    if (part.buffer.defined() && part.owner != group.rank()) at::_foreach_copy_(part.parameters, part.views);
  }
}

}  // namespace lockstep::parallel
