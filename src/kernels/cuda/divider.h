// Division by a number that a kernel is given, as a multiplication.
#pragma once
#include <cstdint>

namespace lockstep::kernels::cuda {

struct Quotient {
  int whole, rest;
};

// Of numbers from 0 to the greatest int, by a number of at least 1.
struct Divider {
  Divider() = default;
  explicit Divider(int by) : divisor(static_cast<unsigned>(by)) {
    while ((std::uint64_t{1} << shift) < divisor) ++shift;
    const std::uint64_t missing = (std::uint64_t{1} << shift) - divisor;
    factor = static_cast<unsigned>((missing << 32) / divisor + 1);
  }
#ifdef __CUDACC__
  __device__ Quotient operator()(int value) const {
    const auto number = static_cast<unsigned>(value);
    const unsigned whole = (__umulhi(number, factor) + number) >> shift;
    return {static_cast<int>(whole), static_cast<int>(number - whole * divisor)};
  }
#endif

  unsigned divisor = 1, factor = 1, shift = 0;
};

}  // namespace lockstep::kernels::cuda
