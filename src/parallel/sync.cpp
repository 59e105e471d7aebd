#include <lockstep/parallel/sync.h>

#include <numeric>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/zeros.h>

#include "bucket_plan.h"
#include "finite_check.h"
#include "flat_buffer.h"
#include "parameter_shares.h"
#include "prepared_gradient.h"
#include "same_parameters.h"
#include "traced_collective.h"

namespace lockstep {
void broadcast_tensors(std::span<const at::Tensor> tensors, const Group& group, int root) {
  if (group.size() == 1) return;
  parallel::ParameterShares(tensors, std::vector<int>(tensors.size(), root)).publish(group);
}

void all_reduce_tensors(std::span<const at::Tensor> tensors, const Group& group, Reduce op) {
  if (group.size() == 1) return;
  const at::NoGradGuard no_gradients;
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Each is waited for at once: there is nothing else to do, and an operation that the caller waits for needs no
  // thread.
  for (const auto& members : parallel::plan_buckets(tensors, order, parallel::kSmallTogether)) {
    std::vector<at::Tensor> together;
    for (const std::size_t member : members) together.push_back(tensors[member].detach());
    if (members.size() == 1 && together.front().is_non_overlapping_and_dense()) {
      const parallel::TracedWait traced("all_reduce", "all_reduce.wait", together.front().nbytes());
      group.all_reduce(together.front(), op);
      continue;
    }
    const auto [buffer, views] = parallel::flat_buffer(together, together.front().scalar_type());
    at::_foreach_copy_(views, together);
    {
      const parallel::TracedWait traced("all_reduce", "all_reduce.wait", buffer.nbytes());
      group.all_reduce(buffer, op);
    }
    at::_foreach_copy_(together, views);
  }
}

void sync_parameters(const ModuleState& state, const Group& group, int root) {
  const auto all = parallel::require_same(group, "sync_parameters", "", [&] { return all_of(state); });
  broadcast_tensors(tensors_of(all), group, root);
}

void sync_gradients(const ModuleState& state, const Group& group, Reduce op, const SyncGradientsOptions& options) {
  const at::NoGradGuard no_gradients;
  const NamedTensors::List parameters = with_gradient(state.parameters);
  const at::Tensor has_gradient = at::zeros({static_cast<std::int64_t>(parameters.size())}, at::kInt);
  int* const has = has_gradient.mutable_data_ptr<int>();
  for (std::size_t i = 0; i < parameters.size(); ++i) has[i] = parameters[i].second.grad().defined() ? 1 : 0;
  group.all_reduce(has_gradient, Reduce::kMax);
  NamedTensors::List gradients;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& [name, parameter] = parameters[i];
    if (has[i] != 0) gradients.emplace_back(name, parallel::prepared_gradient(parameter));
  }
  parallel::FiniteCheck check(options.check_gradients);
  for (const auto& [name, gradient] : gradients) check.look_before(name, gradient);
  all_reduce_tensors(tensors_of(gradients), group, op);
  for (const auto& [name, gradient] : gradients) check.look_after(name, gradient);
  check.require_finite(group);
}

}  // namespace lockstep
