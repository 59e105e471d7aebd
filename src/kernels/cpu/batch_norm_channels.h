// What batch normalization computes once for each channel, between its passes over the rows.
#pragma once
#include "batch_norm_passes.h"

namespace lockstep::kernels {

// What a forward pass keeps, in one array: the coefficients, and what the gradients need beside them.
struct KeptChannels {
  static constexpr std::int64_t kArrays = 5;
  KeptChannels(float* values, std::int64_t count)
      : channels(count),
        center(values),
        scale(values + count),
        offset(values + 2 * count),
        inverse(values + 3 * count),
        residue(values + 4 * count) {}

  NormCoefficients coefficients() const { return {center, scale, offset}; }

  std::int64_t channels;
  float *center, *scale, *offset;
  float* inverse;  // one over the deviation
  float* residue;  // center - mean
};

void keep_channels(const KeptChannels& to, const ChannelMoments& moments, const float* weight, const float* bias,
                   double eps);

// As at::batch_norm does: with Bessel's correction of the variance.
void update_running(float* mean, float* variance, const ChannelMoments& moments, std::int64_t rows, double momentum);

// Gradients of weight and bias.
void parameter_gradients(float* weight, float* bias, const KeptChannels& kept, const GradientSums& sums);

// What input_gradient wants to know.
struct GradientFactors {
  std::vector<float> slope, constant;
};
GradientFactors gradient_factors(const KeptChannels& kept, const GradientSums& sums, std::int64_t rows);

}  // namespace lockstep::kernels
