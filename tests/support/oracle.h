// Inputs whose reductions are exact in every type, and the answers computed plainly.
#pragma once
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include <lockstep/comm/reduce.h>

namespace lockstep::test {

// Every type that is reduced.
const std::vector<at::ScalarType>& reduced_types();

bool applies(Reduce op, at::ScalarType type);

// Element i of rank r's input: 1, 2 or 3, so that products of four ranks fit an int8; for bool, 0 or 1.
double input_value(int rank, std::int64_t i, at::ScalarType type);
at::Tensor input_tensor(int rank, std::int64_t count, at::ScalarType type);

// Element i of the reduction over `size` ranks, as `type` holds it.
at::Tensor reduced_tensor(int size, std::int64_t count, at::ScalarType type, Reduce op);

}  // namespace lockstep::test
