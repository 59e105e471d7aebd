// The operations themselves: what each moves, and what a rank that has joined gives to them.
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <lockstep/base/errors.h>

#include "../parallel/adasum.h"
#include "operations.h"

namespace lockstep::hvd {
namespace {

void start_all_reduce(Operation& operation, const Group& group) {
  const auto op = static_cast<Op>(operation.request.detail);
  if (op == Adasum) {
    parallel::adasum(group, operation.tensor.view(-1), {operation.tensor.numel()});
  } else {
    operation.work = group.all_reduce_async(operation.tensor, to_reduce(op));
  }
}

// Each rank tells each other how many rows it sends.
void start_all_to_all(Operation& operation, const Group& group) {
  const at::Tensor& tensor = operation.tensor;
  at::Tensor sent = at::empty({group.size()}, at::kLong);
  std::copy(operation.splits.begin(), operation.splits.end(), sent.mutable_data_ptr<std::int64_t>());
  const at::Tensor received = at::empty_like(sent);
  group.all_to_all(received, sent);
  const auto* rows = received.const_data_ptr<std::int64_t>();
  std::vector<std::int64_t> sizes = tensor.sizes().vec();
  sizes[0] = received.sum().item<std::int64_t>();
  const at::Tensor output = at::empty(sizes, tensor.options());
  group.all_to_all(output, tensor, {rows, rows + group.size()}, operation.splits);
  operation.tensor = output;
}

}  // namespace

Reduce to_reduce(Op op) {
  switch (op) {
    case Average:
      return Reduce::kAverage;
    case Min:
      return Reduce::kMin;
    case Max:
      return Reduce::kMax;
    case Product:
      return Reduce::kProduct;
    default:
      return Reduce::kSum;
  }
}

void start_operation(Operation& operation, const Group& group) {
  const std::string& kind = operation.request.kind;
  if (kind == "allreduce") {
    start_all_reduce(operation, group);
  } else if (kind == "broadcast") {
    operation.work = group.broadcast_async(operation.tensor, operation.request.detail);
  } else if (kind == "allgather") {
    operation.tensor = at::cat(group.all_gather(operation.tensor));
  } else {
    start_all_to_all(operation, group);
  }
}

Operation part_of_joined(const Request& request) {
  std::vector<std::int64_t> sizes = request.sizes;
  if (request.kind == "allgather") sizes[0] = 0;
  if (request.kind == "alltoall") {
    throw UsageError({.message = fmt::format("alltoall '{}' cannot be done when a rank has joined", request.name),
                      .next = "call join after the last alltoall"});
  }
  Operation operation;
  operation.request = request;
  operation.tensor = at::zeros(
      sizes,
      at::TensorOptions(static_cast<at::ScalarType>(request.type)).device(static_cast<at::DeviceType>(request.device)));
  return operation;
}

}  // namespace lockstep::hvd
