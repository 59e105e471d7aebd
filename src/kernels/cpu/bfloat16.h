#pragma once
#include <cstdint>

namespace lockstep::kernels {

// The upper half of a float, as kernels find it in memory. They compute in floats.
struct Bfloat16 {
  std::uint16_t bits;
};

}  // namespace lockstep::kernels
