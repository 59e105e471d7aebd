// The ranks that act together.
#pragma once
#include <memory>
#include <string>

#include <ATen/core/Tensor.h>

#include <lockstep/base/rank.h>
#include <lockstep/comm/reduce.h>

namespace c10d {
class ProcessGroup;
}

namespace lockstep {

// Every function below rank() and size() is collective: each rank of the group calls it, in the same order. What a
// function changes it changes in place, through the tensor's storage; non-contiguous tensors are refused.
//
// A call that fails on this rank, or that another rank does not join within the group's timeout, throws RuntimeError
// with the operation's name.
//
// Cheap to copy; copies share one communicator, closed with the last of them.
class Group {
 public:
  explicit Group(c10::intrusive_ptr<c10d::ProcessGroup> process_group);

  int rank() const;
  int size() const;
  RankId id() const { return {rank(), size()}; }

  // The name of the backend that moves tensors on the CPU.
  std::string backend() const;

  // Replaces `tensor` by that of rank `root`.
  void broadcast(const at::Tensor& tensor, int root = 0) const;

  // Replaces `tensor` by the reduction over all ranks. An average of whole numbers is refused.
  void all_reduce(const at::Tensor& tensor, Reduce op = Reduce::kSum) const;

  // Returns when every rank has called it.
  void barrier() const;

  // For code that takes libtorch's own type, such as c10d::Reducer.
  const c10::intrusive_ptr<c10d::ProcessGroup>& process_group() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace lockstep
