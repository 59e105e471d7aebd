// What is checked before anything is sent, and tensors as the bytes that an Engine moves.
#pragma once
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include "engine.h"

namespace lockstep::comm {

// Throws UsageError unless `rank` is one of a group of `size`.
void require_rank(const char* operation, std::int64_t rank, int size);

// What a tensor must be; each throws UsageError that names the operation and the tensor. The device is not looked at.
void require_dense(const char* operation, const at::Tensor& tensor);
void require_contiguous(const char* operation, const at::Tensor& tensor);
void require_reducible(const char* operation, const at::Tensor& tensor, Reduce op);

// Throws UsageError unless there is exactly one tensor: c10d's lists are a relic of several devices in one process.
const at::Tensor& only(const char* operation, const std::vector<at::Tensor>& tensors);

// The tensor's memory, whose order of elements is the same on all ranks when their strides are. Throws UsageError when
// it is not on the CPU, is sparse, or has gaps or overlaps.
Block dense_block(const char* operation, const at::Tensor& tensor);

// As above, for a tensor whose elements must lie in their natural order.
Block contiguous_block(const char* operation, const at::Tensor& tensor);

// The elements of a dense tensor, for a reduction. Throws UsageError for a type that is not reduced, or not in that
// way.
Elements reducible(const char* operation, const at::Tensor& tensor, Reduce op);

// Throws UsageError for a reduction that only NCCL has.
Reduce to_reduce(const char* operation, const c10d::ReduceOp& op);

c10d::ReduceOp to_c10d(Reduce op);

// The block of `whole` cut into parts of the given sizes; equal parts when `sizes` is empty.
std::vector<Block> cut(const char* operation, const at::Tensor& whole, const std::vector<std::int64_t>& rows,
                       int parts);

}  // namespace lockstep::comm
