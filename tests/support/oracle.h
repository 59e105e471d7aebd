// Inputs whose reductions are exact in every type, and the answers computed plainly.
#pragma once
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include <lockstep/comm/reduce.h>

namespace lockstep::test {

// Where the tensors of a test are: in a GPU's memory for nccl, else in the CPU's. The tensors below are there.
at::Device device();
at::Tensor full(at::IntArrayRef shape, const at::Scalar& value, at::ScalarType type = at::kFloat);
at::Tensor zeros(at::IntArrayRef shape, at::ScalarType type = at::kFloat);

// Every type that is reduced: NCCL has no 16-bit whole numbers.
const std::vector<at::ScalarType>& reduced_types();

// Whether the operation is one for the type; NCCL has none on bits.
bool applies(Reduce op, at::ScalarType type);

// Element i of rank r's input: 1, 2 or 3, so that products of four ranks fit an int8; for bool, 0 or 1.
double input_value(int rank, std::int64_t i, at::ScalarType type);
at::Tensor input_tensor(int rank, std::int64_t count, at::ScalarType type);

// Element i of the reduction over `size` ranks, as `type` holds it.
at::Tensor reduced_tensor(int size, std::int64_t count, at::ScalarType type, Reduce op);

}  // namespace lockstep::test
