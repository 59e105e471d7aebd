#include "hierarchy.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "tensor_blocks.h"

namespace lockstep::comm {
namespace {

// For each rank, how many ranks of its node come before it.
std::vector<int> number_inside(const std::vector<int>& node_of_rank) {
  std::map<int, int> counts;
  std::vector<int> result;
  for (const int node : node_of_rank) result.push_back(counts[node]++);
  return result;
}

// The elements of a dense tensor as they lie in memory.
at::Tensor flat_view(const at::Tensor& tensor) {
  return tensor.as_strided({tensor.numel()}, {1});
}

}  // namespace

std::vector<int> number_nodes(const std::vector<std::string>& host_of_rank) {
  std::map<std::string, int> numbers;
  std::vector<int> result;
  for (const std::string& host : host_of_rank) {
    result.push_back(numbers.try_emplace(host, static_cast<int>(numbers.size())).first->second);
  }
  return result;
}

bool has_hierarchy(const std::vector<int>& node_of_rank) {
  if (node_of_rank.empty()) return false;
  const int nodes = *std::max_element(node_of_rank.begin(), node_of_rank.end()) + 1;
  return nodes > 1 && std::cmp_less(nodes, node_of_rank.size());
}

Hierarchy::Hierarchy(const BackendRequest& request, Parts parts)
    : Backend(request.rank.rank, request.rank.size),
      parts_(std::move(parts)),
      timeout_(request.timeout),
      watch_(request.watch),
      local_rank_of_(number_inside(parts_.node_of_rank)),
      queue_("ls-hierarchy", request.watch) {}

void Hierarchy::setTimeout(std::chrono::milliseconds timeout) {
  timeout_ = timeout;
  parts_.flat->setTimeout(timeout);
  if (parts_.between) parts_.between->setTimeout(timeout);
}

Hierarchy::WorkPtr Hierarchy::start(c10d::OpType type, const char* name, const Tensors& tensors,
                                    const std::string& detail, std::chrono::milliseconds timeout, bool async,
                                    WorkQueue::Task task) {
  auto work = c10::make_intrusive<EngineWork>(type, watch_->begin(name, tensors, detail), tensors);
  queue_.start({work, std::move(task), timeout == c10d::kUnsetTimeout ? timeout_ : timeout}, async);
  return work;
}

void Hierarchy::all_reduce(const at::Tensor& tensor, Reduce op, const Patience& patience) {
  const bool average = op == Reduce::kAverage;
  const Reduce inner = average ? Reduce::kSum : op;
  const Elements elements = reducible("all_reduce", tensor, inner);
  parts_.inside->reduce(elements, inner, 0, patience);
  if (parts_.between) {
    c10d::AllreduceOptions options;
    options.reduceOp = to_c10d(inner);
    options.asyncOp = false;
    Tensors list{flat_view(tensor)};
    parts_.between->allreduce(list, options)->wait();
    if (average) list[0].div_(getSize());
  }
  parts_.inside->broadcast(dense_block("all_reduce", tensor), 0, patience);
}

// To the root's own leader, to the other leaders, and from each to its node.
void Hierarchy::broadcast_all(const at::Tensor& tensor, int root, const Patience& patience) {
  const Block block = dense_block("broadcast", tensor);
  const auto node_of = [this](int rank) { return parts_.node_of_rank[static_cast<std::size_t>(rank)]; };
  const int root_inside = local_rank_of_[static_cast<std::size_t>(root)];
  if (node_of(getRank()) == node_of(root) && root_inside != 0) {
    parts_.inside->broadcast(block, root_inside, patience);
  }
  if (parts_.between) {
    c10d::BroadcastOptions options;
    options.rootRank = node_of(root);
    options.asyncOp = false;
    Tensors list{flat_view(tensor)};
    parts_.between->broadcast(list, options)->wait();
  }
  if (node_of(getRank()) != node_of(root) || root_inside == 0) parts_.inside->broadcast(block, 0, patience);
}

Hierarchy::WorkPtr Hierarchy::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
  const Reduce op = to_reduce("all_reduce", options.reduceOp);
  const at::Tensor tensor = only("all_reduce", tensors);
  reducible("all_reduce", tensor, op);
  return start(c10d::OpType::ALLREDUCE, "all_reduce", tensors, to_text(op), options.timeout, options.asyncOp,
               [this, tensor, op](const Patience& patience) { all_reduce(tensor, op, patience); });
}

Hierarchy::WorkPtr Hierarchy::allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) {
  const Reduce op = to_reduce("all_reduce", options.reduceOp);
  for (const at::Tensor& tensor : tensors) reducible("all_reduce", tensor, op);
  return start(c10d::OpType::ALLREDUCE_COALESCED, "all_reduce", tensors, to_text(op), options.timeout, options.asyncOp,
               [this, tensors, op](const Patience& patience) {
                 for (const at::Tensor& tensor : tensors) all_reduce(tensor, op, patience);
               });
}

Hierarchy::WorkPtr Hierarchy::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
  const at::Tensor tensor = only("broadcast", tensors);
  dense_block("broadcast", tensor);
  require_rank("broadcast", options.rootRank, getSize());
  return start(c10d::OpType::BROADCAST, "broadcast", tensors, fmt::format("from rank {}", options.rootRank),
               options.timeout, options.asyncOp,
               [this, tensor, root = static_cast<int>(options.rootRank)](const Patience& patience) {
                 broadcast_all(tensor, root, patience);
               });
}

Hierarchy::WorkPtr Hierarchy::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
  return parts_.flat->reduce(tensors, options);
}
Hierarchy::WorkPtr Hierarchy::allgather(TensorLists& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) {
  return parts_.flat->allgather(outputs, inputs, options);
}
Hierarchy::WorkPtr Hierarchy::_allgather_base(at::Tensor& output, at::Tensor& input,
                                              const c10d::AllgatherOptions& options) {
  return parts_.flat->_allgather_base(output, input, options);
}
Hierarchy::WorkPtr Hierarchy::allgather_coalesced(TensorLists& outputs, Tensors& inputs,
                                                  const c10d::AllgatherOptions& options) {
  return parts_.flat->allgather_coalesced(outputs, inputs, options);
}
Hierarchy::WorkPtr Hierarchy::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                              const c10d::AllgatherOptions& options) {
  return parts_.flat->allgather_into_tensor_coalesced(outputs, inputs, options);
}
Hierarchy::WorkPtr Hierarchy::gather(TensorLists& outputs, Tensors& inputs, const c10d::GatherOptions& options) {
  return parts_.flat->gather(outputs, inputs, options);
}
Hierarchy::WorkPtr Hierarchy::scatter(Tensors& outputs, TensorLists& inputs, const c10d::ScatterOptions& options) {
  return parts_.flat->scatter(outputs, inputs, options);
}
Hierarchy::WorkPtr Hierarchy::reduce_scatter(Tensors& outputs, TensorLists& inputs,
                                             const c10d::ReduceScatterOptions& options) {
  return parts_.flat->reduce_scatter(outputs, inputs, options);
}
Hierarchy::WorkPtr Hierarchy::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                   const c10d::ReduceScatterOptions& options) {
  return parts_.flat->_reduce_scatter_base(output, input, options);
}
Hierarchy::WorkPtr Hierarchy::reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                              const c10d::ReduceScatterOptions& options) {
  return parts_.flat->reduce_scatter_tensor_coalesced(outputs, inputs, options);
}
Hierarchy::WorkPtr Hierarchy::alltoall_base(at::Tensor& output, at::Tensor& input,
                                            std::vector<std::int64_t>& output_sizes,
                                            std::vector<std::int64_t>& input_sizes,
                                            const c10d::AllToAllOptions& options) {
  return parts_.flat->alltoall_base(output, input, output_sizes, input_sizes, options);
}
Hierarchy::WorkPtr Hierarchy::alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) {
  return parts_.flat->alltoall(outputs, inputs, options);
}
Hierarchy::WorkPtr Hierarchy::send(Tensors& tensors, int destination, int tag) {
  return parts_.flat->send(tensors, destination, tag);
}
Hierarchy::WorkPtr Hierarchy::recv(Tensors& tensors, int source, int tag) {
  return parts_.flat->recv(tensors, source, tag);
}
Hierarchy::WorkPtr Hierarchy::recvAnysource(Tensors& tensors, int tag) {
  return parts_.flat->recvAnysource(tensors, tag);
}
Hierarchy::WorkPtr Hierarchy::barrier(const c10d::BarrierOptions& options) {
  return parts_.flat->barrier(options);
}

}  // namespace lockstep::comm
