#include "tensor_blocks.h"

#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/base/errors.h>

#include "operation.h"

namespace lockstep::comm {
namespace {

// The tensor's bytes, which must be in the CPU's memory.
Block block_of(const char* operation, const at::Tensor& tensor) {
  if (!tensor.device().is_cpu()) {
    throw UsageError({.message = fmt::format("{}: this backend moves tensors in the CPU's memory", operation),
                      .found = fmt::format("{} on {}", describe_tensor(tensor), tensor.device().str()),
                      .next = "use the nccl backend for GPU tensors, or move the tensor"});
  }
  return {static_cast<std::byte*>(tensor.mutable_data_ptr()), tensor.nbytes()};
}

UsageError wrong_layout(const char* operation, const char* what, const at::Tensor& tensor, const char* next) {
  return UsageError(
      {.message = fmt::format("{}: the tensor {}", operation, what),
       .found = fmt::format("{} with strides {}", describe_tensor(tensor), fmt::join(tensor.strides(), ", ")),
       .next = next});
}

void require_strided(const char* operation, const at::Tensor& tensor) {
  if (!tensor.defined()) throw UsageError(fmt::format("{}: the tensor is not defined", operation));
  if (tensor.layout() != c10::Layout::Strided) {
    throw UsageError(
        {.message = fmt::format("{}: sparse tensors are not moved", operation), .next = "pass tensor.to_dense()"});
  }
}

}  // namespace

void require_rank(const char* operation, std::int64_t rank, int size) {
  if (rank >= 0 && rank < size) return;
  throw UsageError({.message = fmt::format("{}: there is no rank {}", operation, rank),
                    .expected = fmt::format("0 to {}", size - 1)});
}

void require_dense(const char* operation, const at::Tensor& tensor) {
  require_strided(operation, tensor);
  if (tensor.is_non_overlapping_and_dense()) return;
  throw wrong_layout(operation, "has gaps or overlaps in memory", tensor,
                     "pass tensor.contiguous() and copy the result back");
}

void require_contiguous(const char* operation, const at::Tensor& tensor) {
  require_strided(operation, tensor);
  if (tensor.is_contiguous()) return;
  throw wrong_layout(operation, "is not contiguous", tensor, "pass tensor.contiguous()");
}

void require_reducible(const char* operation, const at::Tensor& tensor, Reduce op) {
  require_dense(operation, tensor);
  const at::ScalarType type = tensor.scalar_type();
  const bool floating = type == at::kHalf || type == at::kBFloat16 || type == at::kFloat || type == at::kDouble;
  const bool whole = type == at::kByte || type == at::kChar || type == at::kShort || type == at::kInt ||
                     type == at::kLong || type == at::kBool;
  const bool bits = op == Reduce::kBitAnd || op == Reduce::kBitOr || op == Reduce::kBitXor;
  const char* expected = nullptr;
  if (!floating && !whole) expected = "floating-point numbers, whole numbers or bool";
  if (bits && !whole) expected = "whole numbers or bool for a bit operation";
  if (op == Reduce::kAverage && !floating) expected = "floating-point numbers for an average";
  if (expected == nullptr) return;
  throw UsageError({.message = fmt::format("{}: this reduction is not for this type", operation),
                    .found = describe_tensor(tensor),
                    .expected = expected});
}

const at::Tensor& only(const char* operation, const std::vector<at::Tensor>& tensors) {
  if (tensors.size() == 1) return tensors.front();
  throw UsageError({.message = fmt::format("{}: one tensor at a time", operation),
                    .found = fmt::format("{} tensors", tensors.size())});
}

Block dense_block(const char* operation, const at::Tensor& tensor) {
  require_dense(operation, tensor);
  return block_of(operation, tensor);
}

Block contiguous_block(const char* operation, const at::Tensor& tensor) {
  require_contiguous(operation, tensor);
  return block_of(operation, tensor);
}

Elements reducible(const char* operation, const at::Tensor& tensor, Reduce op) {
  require_reducible(operation, tensor, op);
  return {block_of(operation, tensor).data, tensor.numel(), tensor.scalar_type()};
}

c10d::ReduceOp to_c10d(Reduce op) {
  switch (op) {
    case Reduce::kSum:
      return c10d::ReduceOp::SUM;
    case Reduce::kAverage:
      return c10d::ReduceOp::AVG;
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

Reduce to_reduce(const char* operation, const c10d::ReduceOp& op) {
  switch (op.op_) {
    case c10d::ReduceOp::SUM:
      return Reduce::kSum;
    case c10d::ReduceOp::AVG:
      return Reduce::kAverage;
    case c10d::ReduceOp::PRODUCT:
      return Reduce::kProduct;
    case c10d::ReduceOp::MIN:
      return Reduce::kMin;
    case c10d::ReduceOp::MAX:
      return Reduce::kMax;
    case c10d::ReduceOp::BAND:
      return Reduce::kBitAnd;
    case c10d::ReduceOp::BOR:
      return Reduce::kBitOr;
    case c10d::ReduceOp::BXOR:
      return Reduce::kBitXor;
    default:
      throw UsageError(fmt::format("{}: this reduction is one of NCCL alone", operation));
  }
}

std::vector<Block> cut(const char* operation, const at::Tensor& whole, const std::vector<std::int64_t>& rows,
                       int parts) {
  require_contiguous(operation, whole);
  const std::int64_t all_rows = whole.dim() > 0 ? whole.size(0) : 1;
  const bool even = rows.empty() && all_rows % parts == 0;
  const bool given =
      std::ssize(rows) == parts && std::accumulate(rows.begin(), rows.end(), std::int64_t{0}) == all_rows;
  if (!even && !given) {
    throw UsageError({.message = fmt::format("{}: the tensor cannot be cut so", operation),
                      .found = rows.empty() ? describe_tensor(whole)
                                            : fmt::format("{} into {}", describe_tensor(whole), fmt::join(rows, " + ")),
                      .expected = fmt::format("{} parts that make up the first dimension", parts)});
  }
  const std::size_t row_bytes = all_rows > 0 ? whole.nbytes() / static_cast<std::size_t>(all_rows) : 0;
  std::vector<Block> blocks;
  auto* next = static_cast<std::byte*>(whole.mutable_data_ptr());
  for (int i = 0; i < parts; ++i) {
    const std::int64_t count = rows.empty() ? all_rows / parts : rows[static_cast<std::size_t>(i)];
    if (count < 0) throw UsageError(fmt::format("{}: a part of {} rows", operation, count));
    blocks.push_back({next, static_cast<std::size_t>(count) * row_bytes});
    next += blocks.back().bytes;
  }
  return blocks;
}

}  // namespace lockstep::comm
