// A c10d::Backend on an Engine: every verb of c10d, for CPU tensors.
#pragma once
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <lockstep/base/rank.h>

#include "engine.h"
#include "message_pump.h"
#include "work_queue.h"

namespace lockstep::comm {

// Tensors must be dense; where several tensors or parts are laid end to end they must be contiguous. Both are checked,
// and refused by name. A call whose options say that the caller waits (asyncOp = false) runs in the caller's thread.
class EngineBackend : public c10d::Backend {
 public:
  EngineBackend(std::string name, RankId rank, std::unique_ptr<Engine> engine, std::chrono::milliseconds timeout,
                std::shared_ptr<Watch> watch);
  ~EngineBackend() override;

  const std::string getBackendName() const override { return name_; }
  void setTimeout(std::chrono::milliseconds timeout) override { timeout_ = timeout; }
  void setSequenceNumberForGroup() override {}
  std::uint64_t getSequenceNumberForGroup() override { return watch_->sequence(); }

  using Tensors = std::vector<at::Tensor>;
  using TensorLists = std::vector<Tensors>;
  using WorkPtr = c10::intrusive_ptr<c10d::Work>;

  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkPtr allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override;
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
  struct Call {
    c10d::OpType type;
    const char* name;
    Tensors results;
    std::chrono::milliseconds timeout;
    bool async;
    std::string detail = {};  // what ranks must agree on besides name and tensor
  };
  WorkPtr start(Call call, WorkQueue::Task task);
  WorkPtr start_message(c10d::OpType type, const char* name, const at::Tensor& tensor,
                        std::unique_ptr<Transfer> transfer);

  std::string name_;
  std::chrono::milliseconds timeout_;
  std::shared_ptr<Watch> watch_;
  std::unique_ptr<Engine> engine_;
  // Behind the engine, so that their threads end before it.
  MessagePump messages_;
  WorkQueue collectives_;
};

}  // namespace lockstep::comm
