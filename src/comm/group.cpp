#include <lockstep/comm/group.h>

#include <algorithm>
#include <numeric>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/tensor.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include "gloo/reduction.h"
#include "group_context.h"
#include "guard.h"
#include "tensor_blocks.h"
#include "work_state.h"

namespace lockstep {
namespace {

using comm::guarded;
using comm::to_c10d;

bool by_gloo(c10d::ProcessGroup& group, const at::Tensor& tensor) {
  return group.getBackend(tensor.device().type())->getBackendName().ends_with("gloo");
}

comm::AdaptedReduction adapt(c10d::ProcessGroup& group, const at::Tensor& tensor, const at::Tensor& result, Reduce op) {
  return by_gloo(group, tensor) ? comm::adapt_for_gloo(tensor, result, op, group.getSize())
                                : comm::AdaptedReduction{tensor, op, {}};
}

Work make_work(const GroupContext& context, const char* operation, c10::intrusive_ptr<c10d::Work> work,
               std::function<void()> after = {}) {
  return Work(std::make_shared<Work::State>(
      Work::State{operation, std::move(work), context.life_line ? context.loss : nullptr, std::move(after)}));
}

// The tensor as it is given to c10d to be moved unchanged: without gradient, and for Gloo, which does not know 16-bit
// whole numbers, under the name of another type of that size.
at::Tensor movable(c10d::ProcessGroup& group, const at::Tensor& tensor) {
  const bool renamed = tensor.scalar_type() == at::kShort && by_gloo(group, tensor);
  return renamed ? tensor.detach().view(at::kHalf) : tensor.detach();
}

}  // namespace

Group::Group(std::shared_ptr<GroupContext> context) : context_(std::move(context)) {}

int Group::rank() const {
  return process_group()->getRank();
}

int Group::size() const {
  return process_group()->getSize();
}

int Group::local_size() const {
  const auto& hosts = context_->hosts;
  if (hosts.empty()) return size();
  const auto host_of = [&](int member) {
    return hosts[static_cast<std::size_t>(context_->world_ranks[static_cast<std::size_t>(member)])];
  };
  int count = 0;
  for (int member = 0; member < size(); ++member) count += host_of(member) == host_of(rank()) ? 1 : 0;
  return count;
}

std::string Group::backend() const {
  return process_group()->getDefaultBackend()->getBackendName();
}

const c10::intrusive_ptr<c10d::ProcessGroup>& Group::process_group() const {
  return context_->process_group;
}

namespace {

Work start_broadcast(const GroupContext& context, const at::Tensor& tensor, int root, bool async) {
  c10d::ProcessGroup& group = *context.process_group;
  comm::require_dense("broadcast", tensor);
  comm::require_rank("broadcast", root, group.getSize());
  return guarded("broadcast", [&] {
    std::vector<at::Tensor> tensors{movable(group, tensor)};
    c10d::BroadcastOptions options;
    options.rootRank = root;
    options.asyncOp = async;
    return make_work(context, "broadcast", group.broadcast(tensors, options));
  });
}

Work start_all_reduce(const GroupContext& context, const at::Tensor& tensor, Reduce op, bool async) {
  c10d::ProcessGroup& group = *context.process_group;
  comm::require_reducible("all_reduce", tensor, op);
  return guarded("all_reduce", [&] {
    const auto adapted = adapt(group, tensor.detach(), tensor.detach(), op);
    std::vector<at::Tensor> tensors{adapted.tensor};
    c10d::AllreduceOptions options;
    options.reduceOp = to_c10d(adapted.op);
    options.asyncOp = async;
    return make_work(context, "all_reduce", group.allreduce(tensors, options), adapted.after);
  });
}

Work start_all_gather_into(const GroupContext& context, const at::Tensor& output, const at::Tensor& input, bool async) {
  c10d::ProcessGroup& group = *context.process_group;
  comm::require_contiguous("all_gather", output);
  comm::require_contiguous("all_gather", input);
  if (output.numel() != input.numel() * group.getSize() || output.scalar_type() != input.scalar_type()) {
    throw UsageError({.message = "all_gather: the output does not hold the inputs of all ranks",
                      .found = comm::describe_tensor(output) + " for " + comm::describe_tensor(input),
                      .expected = fmt::format("{} times its elements, of its type", group.getSize())});
  }
  return guarded("all_gather", [&] {
    at::Tensor out = movable(group, output).view(-1), in = movable(group, input).view(-1);
    c10d::AllgatherOptions options;
    options.asyncOp = async;
    return make_work(context, "all_gather", group._allgather_base(out, in, options));
  });
}

Work start_reduce_scatter(const GroupContext& context, const at::Tensor& output, const at::Tensor& input, Reduce op,
                          bool async) {
  c10d::ProcessGroup& group = *context.process_group;
  comm::require_contiguous("reduce_scatter", output);
  comm::require_contiguous("reduce_scatter", input);
  comm::require_reducible("reduce_scatter", input, op);
  if (input.numel() != output.numel() * group.getSize() || output.scalar_type() != input.scalar_type()) {
    throw UsageError({.message = "reduce_scatter: the input is not the output times the number of ranks",
                      .found = comm::describe_tensor(input) + " for " + comm::describe_tensor(output)});
  }
  return guarded("reduce_scatter", [&] {
    at::Tensor out = output.detach().view(-1), in = input.detach().view(-1);
    // Gloo has no reduce-scatter of 16-bit whole numbers either; the wider result is narrowed by copy_.
    const auto adapted = adapt(group, in, out, op);
    at::Tensor wide_out =
        adapted.tensor.scalar_type() == out.scalar_type() ? out : out.to(adapted.tensor.scalar_type());
    at::Tensor wide_in = adapted.tensor;
    c10d::ReduceScatterOptions options;
    options.reduceOp = to_c10d(adapted.op);
    options.asyncOp = async;
    auto work = group._reduce_scatter_base(wide_out, wide_in, options);
    std::function<void()> after = adapted.after;
    if (!wide_out.is_same(out)) after = [out, wide_out] { out.copy_(wide_out); };
    return make_work(context, "reduce_scatter", std::move(work), std::move(after));
  });
}

}  // namespace

void Group::broadcast(const at::Tensor& tensor, int root) const {
  start_broadcast(*context_, tensor, root, false).wait();
}

Work Group::broadcast_async(const at::Tensor& tensor, int root) const {
  return start_broadcast(*context_, tensor, root, true);
}

void Group::all_reduce(const at::Tensor& tensor, Reduce op) const {
  start_all_reduce(*context_, tensor, op, false).wait();
}

Work Group::all_reduce_async(const at::Tensor& tensor, Reduce op) const {
  return start_all_reduce(*context_, tensor, op, true);
}

void Group::reduce(const at::Tensor& tensor, int root, Reduce op) const {
  comm::require_reducible("reduce", tensor, op);
  comm::require_rank("reduce", root, size());
  guarded("reduce", [&] {
    // Gloo leaves partial sums in the tensors of other ranks.
    const at::Tensor own = rank() == root ? tensor.detach() : tensor.detach().clone();
    const auto adapted = adapt(*process_group(), own, own, op);
    std::vector<at::Tensor> tensors{adapted.tensor};
    c10d::ReduceOptions options;
    options.reduceOp = to_c10d(adapted.op);
    options.rootRank = root;
    options.asyncOp = false;
    make_work(*context_, "reduce", process_group()->reduce(tensors, options), adapted.after).wait();
  });
}

std::vector<at::Tensor> Group::all_gather(const at::Tensor& tensor) const {
  comm::require_contiguous("all_gather", tensor);
  // Every rank must know every shape first.
  const at::Tensor shape = at::tensor(tensor.sizes(), at::kLong);
  const at::Tensor shapes = at::empty({size(), tensor.dim()}, at::kLong);
  all_gather_into(shapes, shape);
  std::int64_t longest = 0;
  for (int i = 0; i < size(); ++i) {
    longest = std::max(longest, tensor.dim() == 0 ? 1 : shapes[i].prod().item<std::int64_t>());
  }
  // Not every backend gathers unequal sizes, so all are brought to the longest.
  const at::Tensor padded = at::empty({longest}, tensor.options().requires_grad(false));
  padded.narrow(0, 0, tensor.numel()).copy_(tensor.detach().view(-1));
  const at::Tensor all = at::empty({size() * longest}, padded.options());
  all_gather_into(all, padded);
  std::vector<at::Tensor> result;
  for (int i = 0; i < size(); ++i) {
    const at::Tensor row = shapes[i].contiguous();
    const at::IntArrayRef sizes(row.const_data_ptr<std::int64_t>(), static_cast<std::size_t>(tensor.dim()));
    result.push_back(all.narrow(0, i * longest, c10::multiply_integers(sizes)).view(sizes).clone());
  }
  return result;
}

void Group::all_gather_into(const at::Tensor& output, const at::Tensor& input) const {
  start_all_gather_into(*context_, output, input, false).wait();
}

Work Group::all_gather_into_async(const at::Tensor& output, const at::Tensor& input) const {
  return start_all_gather_into(*context_, output, input, true);
}

std::vector<at::Tensor> Group::gather(const at::Tensor& tensor, int root) const {
  comm::require_contiguous("gather", tensor);
  comm::require_rank("gather", root, size());
  return guarded("gather", [&] {
    std::vector<at::Tensor> gathered;
    std::vector<std::vector<at::Tensor>> outputs;
    if (rank() == root) {
      outputs.emplace_back();
      for (int i = 0; i < size(); ++i) {
        gathered.push_back(at::empty_like(tensor.detach()));
        outputs[0].push_back(movable(*process_group(), gathered.back()));
      }
    }
    std::vector<at::Tensor> inputs{movable(*process_group(), tensor)};
    c10d::GatherOptions options;
    options.rootRank = root;
    options.asyncOp = false;
    make_work(*context_, "gather", process_group()->gather(outputs, inputs, options)).wait();
    return gathered;
  });
}

void Group::scatter(const at::Tensor& output, const std::vector<at::Tensor>& inputs, int root) const {
  comm::require_contiguous("scatter", output);
  comm::require_rank("scatter", root, size());
  std::vector<std::vector<at::Tensor>> lists;
  if (rank() == root) {
    if (std::ssize(inputs) != size()) {
      throw UsageError({.message = "scatter: one input for each rank",
                        .found = std::to_string(inputs.size()),
                        .expected = std::to_string(size())});
    }
    lists.emplace_back();
    for (const at::Tensor& input : inputs) {
      comm::require_contiguous("scatter", input);
      if (input.sizes() != output.sizes() || input.scalar_type() != output.scalar_type()) {
        throw UsageError({.message = "scatter: an input is not like the output",
                          .found = comm::describe_tensor(input),
                          .expected = comm::describe_tensor(output)});
      }
      lists[0].push_back(movable(*process_group(), input));
    }
  }
  guarded("scatter", [&] {
    std::vector<at::Tensor> outputs{movable(*process_group(), output)};
    c10d::ScatterOptions options;
    options.rootRank = root;
    options.asyncOp = false;
    make_work(*context_, "scatter", process_group()->scatter(outputs, lists, options)).wait();
  });
}

void Group::reduce_scatter(const at::Tensor& output, const at::Tensor& input, Reduce op) const {
  start_reduce_scatter(*context_, output, input, op, false).wait();
}

Work Group::reduce_scatter_async(const at::Tensor& output, const at::Tensor& input, Reduce op) const {
  return start_reduce_scatter(*context_, output, input, op, true);
}

void Group::all_to_all(const at::Tensor& output, const at::Tensor& input, std::vector<std::int64_t> output_rows,
                       std::vector<std::int64_t> input_rows) const {
  comm::cut("all_to_all", output, output_rows, size());
  comm::cut("all_to_all", input, input_rows, size());
  guarded("all_to_all", [&] {
    at::Tensor out = movable(*process_group(), output), in = movable(*process_group(), input);
    c10d::AllToAllOptions options;
    options.asyncOp = false;
    make_work(*context_, "all_to_all", process_group()->alltoall_base(out, in, output_rows, input_rows, options))
        .wait();
  });
}

void Group::send(const at::Tensor& tensor, int destination, int tag) const {
  send_async(tensor, destination, tag).wait();
}

Work Group::send_async(const at::Tensor& tensor, int destination, int tag) const {
  comm::require_contiguous("send", tensor);
  comm::require_rank("send", destination, size());
  std::vector<at::Tensor> tensors{movable(*process_group(), tensor)};
  return guarded("send",
                 [&] { return make_work(*context_, "send", process_group()->send(tensors, destination, tag)); });
}

void Group::receive(const at::Tensor& tensor, int source, int tag) const {
  receive_async(tensor, source, tag).wait();
}

Work Group::receive_async(const at::Tensor& tensor, int source, int tag) const {
  comm::require_contiguous("receive", tensor);
  comm::require_rank("receive", source, size());
  std::vector<at::Tensor> tensors{movable(*process_group(), tensor)};
  return guarded("receive",
                 [&] { return make_work(*context_, "receive", process_group()->recv(tensors, source, tag)); });
}

int Group::receive_from_any(const at::Tensor& tensor, int tag) const {
  comm::require_contiguous("receive", tensor);
  std::vector<at::Tensor> tensors{movable(*process_group(), tensor)};
  return guarded("receive", [&] {
    Work work = make_work(*context_, "receive", process_group()->recvAnysource(tensors, tag));
    work.wait();
    return work.source();
  });
}

void Group::barrier() const {
  guarded("barrier", [&] {
    c10d::BarrierOptions options;
    options.asyncOp = false;
    // NCCL would guess the device from the rank, and say so.
    if (process_group()->getBackendType() == c10d::ProcessGroup::BackendType::NCCL) {
      options.device_ids = {c10::impl::VirtualGuardImpl(at::kCUDA).getDevice().index()};
    }
    make_work(*context_, "barrier", process_group()->barrier(options)).wait();
  });
}

Group Group::duplicate() const {
  std::vector<int> all(static_cast<std::size_t>(size()));
  std::iota(all.begin(), all.end(), 0);
  return *subgroup(all);
}

std::optional<Group> Group::subgroup(const std::vector<int>& ranks) const {
  std::vector<int> sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  if (ranks.empty() || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    throw UsageError("subgroup: a list of different ranks, at least one");
  }
  for (const int member : ranks) comm::require_rank("subgroup", member, size());
  ++context_->subgroups;
  const auto place = std::find(ranks.begin(), ranks.end(), rank());
  if (place == ranks.end()) return std::nullopt;
  auto context = comm::make_subcontext(*context_, ranks);
  comm::connect(*context, {static_cast<int>(place - ranks.begin()), static_cast<int>(ranks.size())});
  return Group(std::move(context));
}

}  // namespace lockstep
