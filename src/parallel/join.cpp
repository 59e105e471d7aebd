// Training loops of different lengths: a rank that is done goes on with zeros until all are.
#include <ATen/ops/zeros_like.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>
#include <lockstep/parallel/sync.h>

#include "reducer_hook.h"
#include "synchronizer_impl.h"

namespace lockstep::parallel {

int Synchronizer::Impl::count_active(bool active) {
  const auto count = static_cast<int>(group.all_reduce_value(std::int64_t{active ? 1 : 0}));
  if (count == 0) return 0;
  authority = static_cast<int>(group.all_reduce_value(std::int64_t{active ? group.rank() : -1}, Reduce::kMax));
  flow.set_divisor(joining->divide_by_initial_size ? group.size() : count);
  return count;
}

void Synchronizer::Impl::shadow_step() {
  rebuild_buckets();
  if (options.broadcast_buffers) broadcast_tensors(buffers, group, authority);
  const auto buckets = reducer->get_grad_buckets(/*return_zero_tensors=*/true);
  flow.begin();
  std::vector<std::size_t> started;
  for (const c10d::GradBucket& bucket : buckets) started.push_back(flow.start(to_bucket(bucket)));
  if (options.find_unused_parameters) {
    std::vector<at::Tensor> used{at::zeros_like(reducer->get_local_used_map_on_device())};
    group.process_group()->allreduce(used)->wait();
  }
  for (const std::size_t number : started) flow.finish(number);
  reducer->push_rebuilt_params_for_all_indices();
  flow.require_finite();
}

void Synchronizer::Impl::join(const ModuleState& state, const std::function<void()>& body,
                              const JoinOptions& join_options) {
  if (options.static_graph) throw UsageError("join() and static_graph do not go together");
  if (joining) throw UsageError("join() inside join()");
  if (!state.synchronized.empty()) {
    constexpr std::size_t kNamed = 5;
    throw UsageError({.message = "join() and SyncBatchNorm do not go together",
                      .found = format_some(state.synchronized, kNamed),
                      .next = "normalize by each rank's own batch, or give every rank as many batches as the others"});
  }
  struct End {
    Impl& self;
    ~End() {
      self.joining.reset();
      self.authority = 0;
      self.flow.set_divisor(self.group.size());
    }
  } const end{*this};
  joining = join_options;
  body();
  require_complete_backward();
  while (count_active(false) > 0) shadow_step();
  broadcast_tensors(common, group, authority);
}

}  // namespace lockstep::parallel
