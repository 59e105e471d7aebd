#include "distributions.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace lockstep::data {
namespace {

// Above 0, for logarithms.
double positive_uniform(RandomStream& random) {
  return 1 - random.uniform();
}

// Gamma(alpha, 1) for alpha from 1 up, by Marsaglia and Tsang.
double draw_gamma(double alpha, RandomStream& random) {
  const double d = alpha - 1.0 / 3.0, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double normal = draw_normal(random), root = 1 + c * normal;
    if (root <= 0) continue;
    const double cube = root * root * root;
    if (std::log(positive_uniform(random)) < 0.5 * normal * normal + d - d * cube + d * std::log(cube)) return d * cube;
  }
}

}  // namespace

// By Box and Muller; the second number of the pair is not kept, so that a draw always takes as much of the stream.
double draw_normal(RandomStream& random) {
  const double radius = std::sqrt(-2 * std::log(positive_uniform(random)));
  return radius * std::cos(2 * std::numbers::pi * random.uniform());
}

double draw_beta(double alpha, RandomStream& random) {
  if (alpha >= 1) {
    const double first = draw_gamma(alpha, random), second = draw_gamma(alpha, random);
    return first / (first + second);
  }
  // By Jöhnk, with logarithms: for a small alpha both powers may be less than the smallest number.
  for (;;) {
    const double first = std::log(positive_uniform(random)) / alpha;
    const double second = std::log(positive_uniform(random)) / alpha;
    const double larger = std::max(first, second);
    const double log_sum = larger + std::log(std::exp(first - larger) + std::exp(second - larger));
    if (log_sum <= 0) return std::exp(first - log_sum);
  }
}

}  // namespace lockstep::data
