#pragma once
#include <torch/csrc/distributed/c10d/Work.hpp>

#include "watch.h"

namespace lockstep::comm {

// The c10d::Work of an operation on an Engine: completed once, with or without an error, by the thread that ran it.
class EngineWork : public c10d::Work {
 public:
  EngineWork(c10d::OpType type, Operation operation, std::vector<at::Tensor> results);

  const Operation& operation() const { return operation_; }

  // Waits for completion. Throws the operation's error; TimeoutError when `timeout` passes first, and then the
  // operation goes on.
  bool wait(std::chrono::milliseconds timeout = kNoTimeout) override;

  std::vector<at::Tensor> result() override { return results_; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }
  int sourceRank() const override { return source_rank_; }
  std::uint64_t getSequencenumber() const override { return operation_.sequence; }

  void complete();
  void complete_from(int source_rank);
  void fail(std::exception_ptr error);

 private:
  Operation operation_;
  std::vector<at::Tensor> results_;
  int source_rank_ = -1;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

}  // namespace lockstep::comm
