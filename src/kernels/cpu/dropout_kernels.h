// The loop of dropout. It is compiled once for each instruction set, so nothing inline may come from here that another
// file could share.
#pragma once
#include <cstdint>

#include "bfloat16.h"

namespace lockstep::kernels {

template <typename Value>  // float or Bfloat16
struct DropoutKernels {
  // Each of up to 2^32 values times `scale`, or 0 where a hash of `key` and its number is below `threshold`. `y` may be
  // `x`. The same values are dropped by every instruction set, and of either type.
  void (*drop)(Value* y, const Value* x, std::int64_t count, std::uint64_t key, std::uint32_t threshold, float scale);
};

// Those of one instruction set.
struct DropoutLevel {
  DropoutKernels<float> floats;
  DropoutKernels<Bfloat16> bfloats;
};
extern const DropoutLevel kDropoutAvx2, kDropoutAvx512;

// For this CPU; null where it has not enough.
const DropoutLevel* dropout_level();

}  // namespace lockstep::kernels
