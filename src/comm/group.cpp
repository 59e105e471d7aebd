#include <lockstep/comm/group.h>

#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "guard.h"

namespace lockstep {
namespace {

c10d::ReduceOp to_c10d(Reduce op) {
  switch (op) {
    case Reduce::kSum:
    case Reduce::kAverage:  // a sum, divided afterwards: not every backend averages
      return c10d::ReduceOp::SUM;
    case Reduce::kProduct:
      return c10d::ReduceOp::PRODUCT;
    case Reduce::kMin:
      return c10d::ReduceOp::MIN;
    case Reduce::kMax:
      return c10d::ReduceOp::MAX;
    case Reduce::kBitAnd:
      return c10d::ReduceOp::BAND;
    case Reduce::kBitOr:
      return c10d::ReduceOp::BOR;
    case Reduce::kBitXor:
      return c10d::ReduceOp::BXOR;
  }
  throw UsageError("unknown reduction");
}

void require_usable(const char* operation, const at::Tensor& tensor) {
  if (!tensor.defined()) throw UsageError(fmt::format("{}: the tensor is not defined", operation));
  if (!tensor.is_non_overlapping_and_dense()) {
    throw UsageError({.message = fmt::format("{}: the tensor has gaps or overlaps in memory", operation),
                      .found = fmt::format("strides {}", c10::str(tensor.strides())),
                      .next = "pass tensor.contiguous() and copy the result back"});
  }
}

void require_rank(const char* operation, int rank, int size) {
  if (rank >= 0 && rank < size) return;
  throw UsageError({.message = fmt::format("{}: there is no rank {}", operation, rank),
                    .expected = fmt::format("0 to {}", size - 1)});
}

}  // namespace

struct Group::State {
  c10::intrusive_ptr<c10d::ProcessGroup> process_group;
};

Group::Group(c10::intrusive_ptr<c10d::ProcessGroup> process_group)
    : state_(std::make_shared<State>(State{std::move(process_group)})) {}

int Group::rank() const {
  return state_->process_group->getRank();
}

int Group::size() const {
  return state_->process_group->getSize();
}

std::string Group::backend() const {
  return state_->process_group->getBackend(c10::DeviceType::CPU)->getBackendName();
}

void Group::broadcast(const at::Tensor& tensor, int root) const {
  require_usable("broadcast", tensor);
  require_rank("broadcast", root, size());
  comm::guarded("broadcast", [&] {
    std::vector<at::Tensor> tensors{tensor.detach()};
    c10d::BroadcastOptions options;
    options.rootRank = root;
    state_->process_group->broadcast(tensors, options)->wait();
  });
}

void Group::all_reduce(const at::Tensor& tensor, Reduce op) const {
  require_usable("all_reduce", tensor);
  if (op == Reduce::kAverage && !tensor.is_floating_point()) {
    throw UsageError({.message = "all_reduce: an average of whole numbers is not a whole number",
                      .found = c10::toString(tensor.scalar_type()),
                      .next = "convert to a floating-point type, or take the sum"});
  }
  comm::guarded("all_reduce", [&] {
    std::vector<at::Tensor> tensors{tensor.detach()};
    c10d::AllreduceOptions options;
    options.reduceOp = to_c10d(op);
    state_->process_group->allreduce(tensors, options)->wait();
    if (op == Reduce::kAverage) tensors[0].div_(size());
  });
}

void Group::barrier() const {
  comm::guarded("barrier", [&] { state_->process_group->barrier()->wait(); });
}

const c10::intrusive_ptr<c10d::ProcessGroup>& Group::process_group() const {
  return state_->process_group;
}

}  // namespace lockstep
