#pragma once
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "backend.h"
#include "engine.h"
#include "work_queue.h"

namespace lockstep::comm {

// A group on several nodes with several ranks each. Reductions and broadcasts of all go through shared memory inside a
// node, and between nodes through one rank of each, its leader: fewer bytes on the network, and none of them twice. All
// other verbs go from rank to rank.
//
// It is made of backends that know nothing of one another: `flat` for the verbs from rank to rank, `between` for the
// leaders, and an engine of shared memory inside each node.
class Hierarchy : public c10d::Backend {
 public:
  struct Parts {
    std::string name;
    c10::intrusive_ptr<c10d::Backend> flat;
    c10::intrusive_ptr<c10d::Backend> between;  // on leaders alone
    std::unique_ptr<Engine> inside;
    std::vector<int> node_of_rank;  // numbered from 0 in the order of their first ranks
  };
  Hierarchy(const BackendRequest& request, Parts parts);

  using Tensors = std::vector<at::Tensor>;
  using TensorLists = std::vector<Tensors>;
  using WorkPtr = c10::intrusive_ptr<c10d::Work>;

  const std::string getBackendName() const override { return parts_.name; }
  void setTimeout(std::chrono::milliseconds timeout) override;
  void setSequenceNumberForGroup() override {}
  std::uint64_t getSequenceNumberForGroup() override { return watch_->sequence(); }

  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkPtr allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override;
  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;

  WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
  WorkPtr allgather(TensorLists& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override;
  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options) override;
  WorkPtr allgather_coalesced(TensorLists& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override;
  WorkPtr allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::AllgatherOptions& options) override;
  WorkPtr gather(TensorLists& outputs, Tensors& inputs, const c10d::GatherOptions& options) override;
  WorkPtr scatter(Tensors& outputs, TensorLists& inputs, const c10d::ScatterOptions& options) override;
  WorkPtr reduce_scatter(Tensors& outputs, TensorLists& inputs, const c10d::ReduceScatterOptions& options) override;
  WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                               const c10d::ReduceScatterOptions& options) override;
  WorkPtr reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::ReduceScatterOptions& options) override;
  WorkPtr alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<std::int64_t>& output_sizes,
                        std::vector<std::int64_t>& input_sizes, const c10d::AllToAllOptions& options) override;
  WorkPtr alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) override;
  WorkPtr send(Tensors& tensors, int destination, int tag) override;
  WorkPtr recv(Tensors& tensors, int source, int tag) override;
  WorkPtr recvAnysource(Tensors& tensors, int tag) override;
  WorkPtr barrier(const c10d::BarrierOptions& options) override;

 private:
  WorkPtr start(c10d::OpType type, const char* name, const Tensors& tensors, const std::string& detail,
                std::chrono::milliseconds timeout, bool async, WorkQueue::Task task);
  void all_reduce(const at::Tensor& tensor, Reduce op, const Patience& patience);
  void broadcast_all(const at::Tensor& tensor, int root, const Patience& patience);

  Parts parts_;
  std::chrono::milliseconds timeout_;
  std::shared_ptr<Watch> watch_;
  std::vector<int> local_rank_of_;  // of each rank, in its own node
  WorkQueue queue_;                 // behind the engine, so that its thread ends first
};

// The node of each rank, numbered from 0 in the order of their first ranks.
std::vector<int> number_nodes(const std::vector<std::string>& host_of_rank);

// Whether it is worth while: several nodes, and several ranks on one of them.
bool has_hierarchy(const std::vector<int>& node_of_rank);

// A hierarchy whose network is the backend `network`: "gloo" or "mpi".
MadeBackend make_hierarchy(const std::string& network, const BackendRequest& request);

}  // namespace lockstep::comm
