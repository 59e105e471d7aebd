#include "watched_gloo.h"

#include <fmt/format.h>

#include "../../base/sigpipe_blocked.h"
#include "../guard.h"
#include "../tensor_blocks.h"

namespace lockstep::comm {
namespace {

// The error for an operation that Gloo gave up. It waits for a moment to learn whether a rank was lost: connections
// break first.
std::exception_ptr explain(const Watch& watch, const Operation& operation, std::exception_ptr error,
                           std::chrono::milliseconds timeout) {
  try {
    std::rethrow_exception(error);
  } catch (const Error&) {
    return error;
  } catch (const std::exception& thrown) {
    const std::string what = thrown.what();
    if (what.find("imed out") != std::string::npos) return std::make_exception_ptr(watch.too_late(operation, timeout));
    if (loss_is_known(watch.loss())) return std::make_exception_ptr(watch.given_up(operation));
    return std::make_exception_ptr(RuntimeError(operation.describe() + " failed: " + first_line(what)));
  }
}

// Gloo's Work, whose end is recorded and whose error is explained: once, for whoever waits on it or on its future.
class WatchedWork : public c10d::Work {
 public:
  WatchedWork(c10::intrusive_ptr<c10d::Work> inner, Operation operation, std::shared_ptr<Watch> watch,
              std::chrono::milliseconds timeout)
      : Work(-1, inner->retrieveOpType()), inner_(std::move(inner)) {
    future_ = inner_->getFuture()->then(
        [watch = std::move(watch), operation = std::move(operation), timeout](c10::ivalue::Future& future) {
          watch->end(operation, !future.hasError());
          if (future.hasError()) std::rethrow_exception(explain(*watch, operation, future.exception_ptr(), timeout));
          return future.value();
        },
        inner_->getFuture()->elementType());
  }

  bool isCompleted() override { return future_->completed(); }
  bool isSuccess() const override { return inner_->isSuccess(); }
  std::exception_ptr exception() const override { return future_->exception_ptr(); }
  int sourceRank() const override { return inner_->sourceRank(); }
  std::vector<at::Tensor> result() override { return inner_->result(); }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }
  std::uint64_t getSequencenumber() const override { return inner_->getSequencenumber(); }
  void synchronize() override { inner_->synchronize(); }
  void abort() override { inner_->abort(); }

  bool wait(std::chrono::milliseconds timeout) override {
    try {
      inner_->wait(timeout);
    } catch (const std::exception&) {
      // The future has the better words, unless only this wait was too short.
      if (!inner_->isCompleted()) throw;
    }
    future_->waitAndThrow();
    return true;
  }

 private:
  c10::intrusive_ptr<c10d::Work> inner_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

// For what has no future: messages, and a few verbs that Gloo makes of others. Their end is seen by who waits.
class WatchedWait : public c10d::Work {
 public:
  WatchedWait(c10::intrusive_ptr<c10d::Work> inner, Operation operation, std::shared_ptr<Watch> watch,
              std::chrono::milliseconds timeout)
      : Work(-1, inner->retrieveOpType()),
        inner_(std::move(inner)),
        operation_(std::move(operation)),
        watch_(std::move(watch)),
        timeout_(timeout) {}

  bool isCompleted() override { return inner_->isCompleted(); }
  bool isSuccess() const override { return inner_->isSuccess(); }
  std::exception_ptr exception() const override { return inner_->exception(); }
  int sourceRank() const override { return inner_->sourceRank(); }
  std::vector<at::Tensor> result() override { return inner_->result(); }
  void abort() override { inner_->abort(); }

  bool wait(std::chrono::milliseconds timeout) override {
    try {
      inner_->wait(timeout);
      watch_->end(operation_, true);
      return true;
    } catch (const std::exception&) {
      watch_->end(operation_, false);
      std::rethrow_exception(explain(*watch_, operation_, std::current_exception(), timeout_));
    }
  }

 private:
  c10::intrusive_ptr<c10d::Work> inner_;
  Operation operation_;
  std::shared_ptr<Watch> watch_;
  std::chrono::milliseconds timeout_;
};

bool has_future(c10d::Work& work) {
  try {
    return work.getFuture() != nullptr;
  } catch (const std::exception&) {
    return false;
  }
}

// How deep this thread is in verbs of Gloo that are made of other verbs of Gloo. Some write to connections at once.
thread_local int depth = 0;
class Inside {
 public:
  Inside() { ++depth; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { --depth; }

 private:
  SigpipeBlocked no_sigpipe_;
};

std::string with_root(std::int64_t root) {
  return fmt::format("at rank {}", root);
}

std::string with_operator(const c10d::ReduceOp& op) {
  return to_text(to_reduce("reduce", op));
}

}  // namespace

WatchedGloo::WatchedGloo(const BackendRequest& request, const c10::intrusive_ptr<Options>& options)
    : ProcessGroupGloo(request.store, request.rank.rank, request.rank.size, options), watch_(request.watch) {}

template <typename Call>
WatchedGloo::WorkPtr WatchedGloo::watched(const char* name, const Tensors& tensors, const std::string& detail,
                                          Call&& call) {
  if (depth > 0) return call();
  Operation operation = watch_->begin(name, tensors, detail);
  try {
    const Inside inside;
    return keep_watch(operation, call());
  } catch (...) {
    watch_->end(operation, false);
    std::rethrow_exception(explain(*watch_, operation, std::current_exception(), getOptions()->timeout));
  }
}

WatchedGloo::WorkPtr WatchedGloo::keep_watch(Operation operation, WorkPtr work) {
  const auto timeout = getOptions()->timeout;
  if (has_future(*work)) {
    return c10::make_intrusive<WatchedWork>(std::move(work), std::move(operation), watch_, timeout);
  }
  return c10::make_intrusive<WatchedWait>(std::move(work), std::move(operation), watch_, timeout);
}

WatchedGloo::WorkPtr WatchedGloo::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
  return watched("broadcast", tensors, with_root(options.rootRank),
                 [&] { return ProcessGroupGloo::broadcast(tensors, options); });
}

WatchedGloo::WorkPtr WatchedGloo::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
  return watched("all_reduce", tensors, with_operator(options.reduceOp),
                 [&] { return ProcessGroupGloo::allreduce(tensors, options); });
}

WatchedGloo::WorkPtr WatchedGloo::allreduce_coalesced(Tensors& tensors,
                                                      const c10d::AllreduceCoalescedOptions& options) {
  return watched("all_reduce", tensors, with_operator(options.reduceOp),
                 [&] { return ProcessGroupGloo::allreduce_coalesced(tensors, options); });
}

WatchedGloo::WorkPtr WatchedGloo::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
  return watched("reduce", tensors, with_operator(options.reduceOp) + " " + with_root(options.rootRank),
                 [&] { return ProcessGroupGloo::reduce(tensors, options); });
}

WatchedGloo::WorkPtr WatchedGloo::allgather(TensorLists& outputs, Tensors& inputs,
                                            const c10d::AllgatherOptions& options) {
  return watched("all_gather", inputs, "", [&] { return ProcessGroupGloo::allgather(outputs, inputs, options); });
}

WatchedGloo::WorkPtr WatchedGloo::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                  const c10d::AllgatherOptions& options) {
  return watched("all_gather", {input}, "", [&] { return ProcessGroupGloo::_allgather_base(output, input, options); });
}

WatchedGloo::WorkPtr WatchedGloo::allgather_coalesced(TensorLists& outputs, Tensors& inputs,
                                                      const c10d::AllgatherOptions& options) {
  return watched("all_gather", inputs, "",
                 [&] { return ProcessGroupGloo::allgather_coalesced(outputs, inputs, options); });
}

WatchedGloo::WorkPtr WatchedGloo::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                                  const c10d::AllgatherOptions& options) {
  return watched("all_gather", inputs, "",
                 [&] { return ProcessGroupGloo::allgather_into_tensor_coalesced(outputs, inputs, options); });
}

WatchedGloo::WorkPtr WatchedGloo::gather(TensorLists& outputs, Tensors& inputs, const c10d::GatherOptions& options) {
  return watched("gather", inputs, with_root(options.rootRank),
                 [&] { return ProcessGroupGloo::gather(outputs, inputs, options); });
}

WatchedGloo::WorkPtr WatchedGloo::scatter(Tensors& outputs, TensorLists& inputs, const c10d::ScatterOptions& options) {
  return watched("scatter", outputs, with_root(options.rootRank),
                 [&] { return ProcessGroupGloo::scatter(outputs, inputs, options); });
}

WatchedGloo::WorkPtr WatchedGloo::reduce_scatter(Tensors& outputs, TensorLists& inputs,
                                                 const c10d::ReduceScatterOptions& options) {
  return watched("reduce_scatter", outputs, with_operator(options.reduceOp),
                 [&] { return ProcessGroupGloo::reduce_scatter(outputs, inputs, options); });
}

WatchedGloo::WorkPtr WatchedGloo::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                       const c10d::ReduceScatterOptions& options) {
  return watched("reduce_scatter", {output}, with_operator(options.reduceOp),
                 [&] { return ProcessGroupGloo::_reduce_scatter_base(output, input, options); });
}

WatchedGloo::WorkPtr WatchedGloo::reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                                  const c10d::ReduceScatterOptions& options) {
  return watched("reduce_scatter", outputs, with_operator(options.reduceOp),
                 [&] { return ProcessGroupGloo::reduce_scatter_tensor_coalesced(outputs, inputs, options); });
}

WatchedGloo::WorkPtr WatchedGloo::alltoall_base(at::Tensor& output, at::Tensor& input,
                                                std::vector<std::int64_t>& output_sizes,
                                                std::vector<std::int64_t>& input_sizes,
                                                const c10d::AllToAllOptions& options) {
  return watched("all_to_all", {input}, "",
                 [&] { return ProcessGroupGloo::alltoall_base(output, input, output_sizes, input_sizes, options); });
}

WatchedGloo::WorkPtr WatchedGloo::barrier(const c10d::BarrierOptions& options) {
  return watched("barrier", {}, "", [&] { return ProcessGroupGloo::barrier(options); });
}

WatchedGloo::WorkPtr WatchedGloo::send(Tensors& tensors, int destination, int tag) {
  if (depth > 0) return ProcessGroupGloo::send(tensors, destination, tag);
  Operation operation = watch_->begin_message("send", tensors.at(0));
  const Inside inside;
  return keep_watch(std::move(operation), ProcessGroupGloo::send(tensors, destination, tag));
}

WatchedGloo::WorkPtr WatchedGloo::recv(Tensors& tensors, int source, int tag) {
  if (depth > 0) return ProcessGroupGloo::recv(tensors, source, tag);
  Operation operation = watch_->begin_message("receive", tensors.at(0));
  const Inside inside;
  return keep_watch(std::move(operation), ProcessGroupGloo::recv(tensors, source, tag));
}

WatchedGloo::WorkPtr WatchedGloo::recvAnysource(Tensors& tensors, int tag) {
  if (depth > 0) return ProcessGroupGloo::recvAnysource(tensors, tag);
  Operation operation = watch_->begin_message("receive", tensors.at(0));
  const Inside inside;
  return keep_watch(std::move(operation), ProcessGroupGloo::recvAnysource(tensors, tag));
}

}  // namespace lockstep::comm
