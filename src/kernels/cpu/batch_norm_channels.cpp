#include "batch_norm_channels.h"

#include <cmath>

namespace lockstep::kernels {
namespace {

// The sum of the gradient's products with x - mean.
double product_with_deviation(const KeptChannels& kept, const GradientSums& sums, std::size_t channel) {
  return sums.product[channel] + static_cast<double>(kept.residue[channel]) * sums.gradient[channel];
}

}  // namespace

void keep_channels(const KeptChannels& to, const ChannelMoments& moments, const float* weight, const float* bias,
                   double eps) {
  for (std::size_t c = 0; c < moments.mean.size(); ++c) {
    const auto center = static_cast<float>(moments.mean[c]);
    const double residue = static_cast<double>(center) - moments.mean[c];
    const double inverse = 1 / std::sqrt(moments.variance[c] + eps);
    const double scale = static_cast<double>(weight[c]) * inverse;
    to.center[c] = center;
    to.scale[c] = static_cast<float>(scale);
    to.offset[c] = static_cast<float>(static_cast<double>(bias[c]) + residue * scale);
    to.inverse[c] = static_cast<float>(inverse);
    to.residue[c] = static_cast<float>(residue);
  }
}

void update_running(float* mean, float* variance, const ChannelMoments& moments, std::int64_t rows, double momentum) {
  const double count = static_cast<double>(rows), unbiased = count / (count - 1);
  const auto mix = [momentum](float old, double found) {
    return static_cast<float>(momentum * found + (1 - momentum) * static_cast<double>(old));
  };
  for (std::size_t c = 0; c < moments.mean.size(); ++c) {
    mean[c] = mix(mean[c], moments.mean[c]);
    variance[c] = mix(variance[c], unbiased * moments.variance[c]);
  }
}

void parameter_gradients(float* weight, float* bias, const KeptChannels& kept, const GradientSums& sums) {
  for (std::size_t c = 0; c < sums.gradient.size(); ++c) {
    weight[c] = static_cast<float>(product_with_deviation(kept, sums, c) * static_cast<double>(kept.inverse[c]));
    bias[c] = static_cast<float>(sums.gradient[c]);
  }
}

// The gradient of x is scale * (g - mean(g) - (x - mean) * inverse^2 * mean(g * (x - mean))).
GradientFactors gradient_factors(const KeptChannels& kept, const GradientSums& sums, std::int64_t rows) {
  const std::size_t channels = sums.gradient.size();
  GradientFactors factors{std::vector<float>(channels), std::vector<float>(channels)};
  for (std::size_t c = 0; c < channels; ++c) {
    const double share = static_cast<double>(kept.scale[c]) / static_cast<double>(rows);
    const double inverse = static_cast<double>(kept.inverse[c]);
    const double slope = -share * inverse * inverse * product_with_deviation(kept, sums, c);
    factors.slope[c] = static_cast<float>(slope);
    factors.constant[c] = static_cast<float>(static_cast<double>(kept.residue[c]) * slope - share * sums.gradient[c]);
  }
  return factors;
}

}  // namespace lockstep::kernels
