#pragma once

namespace lockstep {

// How the values of all ranks become one. Averages are for floating-point types, bit operations for whole numbers and
// bool; all others are for every type.
enum class Reduce { kSum, kAverage, kProduct, kMin, kMax, kBitAnd, kBitOr, kBitXor };

}  // namespace lockstep
