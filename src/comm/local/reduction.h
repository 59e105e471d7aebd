#pragma once
#include <cstddef>

#include <c10/core/ScalarType.h>

#include <lockstep/comm/reduce.h>

#include "kernels.h"

namespace lockstep::comm::local {

// How elements of one type are reduced on this CPU.
struct Reduction {
  Kernel kernel;
  std::size_t element_bytes;
};

// Throws UsageError when there is no such reduction.
Reduction find_reduction(c10::ScalarType type, Reduce op);

}  // namespace lockstep::comm::local
