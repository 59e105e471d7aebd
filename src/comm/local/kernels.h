// The loops that reduce. They are compiled once for each instruction set (kernels_*.cpp), so this header and what
// includes it there must bring no inline function that another file could share: the linker keeps one of several
// copies, and it could be one that this CPU cannot run.
#pragma once
#include <cstddef>
#include <cstdint>

#include <lockstep/comm/reduce.h>

namespace lockstep::comm::local {

enum class Number {
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kBool
};

// Reduces `count` elements of at least two ranks, in the order of the ranks, into `out`, which may be one of `sources`.
using Kernel = void (*)(std::byte* out, const std::byte* const* sources, int ranks, std::size_t count);

// Null when the operation is not for that type. The numbers are the same on every instruction set, to the last bit;
// only which NaN a NaN is may differ.
Kernel find_kernel_base(Number number, Reduce op);
Kernel find_kernel_avx2(Number number, Reduce op);
Kernel find_kernel_avx512(Number number, Reduce op);

}  // namespace lockstep::comm::local
