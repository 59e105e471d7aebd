#pragma once
#include <lockstep/bench/compare.h>

namespace lockstep::bench {

// From the rounds of its sides: their medians and spreads, which of the peers is the fastest, and our ratio to it.
void conclude(CompareRow& row);

}  // namespace lockstep::bench
