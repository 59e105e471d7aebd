// The loop of dropout. It is compiled once for each instruction set, so nothing inline may come from here that another
// file could share.
#pragma once
#include <cstdint>

namespace lockstep::kernels {

struct DropoutKernels {
  // Each of up to 2^32 values times `scale`, or 0 where a hash of `key` and its number is below `threshold`. `y` may be
  // `x`. The same values are dropped by every instruction set.
  void (*drop)(float* y, const float* x, std::int64_t count, std::uint64_t key, std::uint32_t threshold, float scale);
};

extern const DropoutKernels kDropoutKernelsAvx2, kDropoutKernelsAvx512;

// Those for this CPU; null where it has not enough.
const DropoutKernels* dropout_kernels();

}  // namespace lockstep::kernels
