#pragma once

namespace lockstep {

// How the values of all ranks become one. Averages are for floating-point types, bit operations for whole numbers and
// bool; all others are for every type.
enum class Reduce { kSum, kAverage, kProduct, kMin, kMax, kBitAnd, kBitOr, kBitXor };

// As errors name it.
constexpr const char* to_text(Reduce op) {
  switch (op) {
    case Reduce::kSum:
      return "sum";
    case Reduce::kAverage:
      return "average";
    case Reduce::kProduct:
      return "product";
    case Reduce::kMin:
      return "min";
    case Reduce::kMax:
      return "max";
    case Reduce::kBitAnd:
      return "bit-and";
    case Reduce::kBitOr:
      return "bit-or";
    case Reduce::kBitXor:
      return "bit-xor";
  }
  return "reduction";
}

}  // namespace lockstep
