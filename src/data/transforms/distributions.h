// Distributions whose numbers do not depend on whose standard library it is.
#pragma once
#include <lockstep/data/random_stream.h>

namespace lockstep::data {

// Mean 0, deviation 1.
double draw_normal(RandomStream& random);

// Beta(alpha, alpha), from 0 to 1.
double draw_beta(double alpha, RandomStream& random);

}  // namespace lockstep::data
