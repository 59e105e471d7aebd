#pragma once
#include <cstdint>

namespace lockstep::kernels {

// How many parts of a size it takes; the last may be smaller.
inline std::int64_t divide_up(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}

}  // namespace lockstep::kernels
