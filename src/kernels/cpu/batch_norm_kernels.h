// The loops of batch normalization, over rows of channels: a picture whose channels come last is a row for each pixel.
// They are compiled once for each instruction set, so nothing inline may come from here that another file could share.
// A Value is a float or a Bfloat16; all that belongs to channels is floats.
#pragma once
#include <cstdint>

#include "bfloat16.h"

namespace lockstep::kernels {

// What a channel is normalized with: y = (x - center) * scale + offset. The mean of a batch is center - residue, where
// center is a float: so a mean that is large beside the deviation costs no digits.
struct NormCoefficients {
  const float *center, *scale, *offset;
};

// Bytes for the bits of a row: one for each channel, in whole words of 16.
[[maybe_unused]] static constexpr std::int64_t bytes_of_bits(std::int64_t channels) {
  return (channels + 15) / 16 * 2;
}

template <typename Value>
struct NormalizeRows {
  std::int64_t rows = 0, channels = 0;
  NormCoefficients coefficients;
  const Value* x = nullptr;
  const Value* shortcut = nullptr;  // null: none
  bool relu = false;
  Value* y = nullptr;
  std::uint8_t* positive = nullptr;  // null, or where to keep which results of the ReLU are above 0
};

// The gradient of what is before the ReLU is that of y where y > 0: as the bits say, or as x says, which has no
// shortcut.
template <typename Value>
struct GradientRows {
  std::int64_t rows = 0, channels = 0;
  NormCoefficients coefficients;
  const Value* gradient = nullptr;  // of y
  const Value* second = nullptr;    // null, or added to it; for sum_gradients, which then has `masked`
  const Value* x = nullptr;
  bool relu = false;
  const std::uint8_t* positive = nullptr;  // null: x says it
};

template <typename Value>
struct BatchNormKernels {
  // For each channel the sum of x - shift, then, for each channel, of its square, where the first row is the shift.
  // `scratch` is for 2 * channels floats.
  void (*sum_deviations)(double* sums, float* scratch, const Value* x, std::int64_t rows, std::int64_t channels);
  void (*normalize)(const NormalizeRows<Value>& work);
  // Sums of the gradient before the ReLU, and of its product with x - center. Where `masked` is not null that gradient
  // is written there, which may be where the gradient came from.
  void (*sum_gradients)(double* sums, float* scratch, Value* masked, const GradientRows<Value>& work);
  // Of x: scale * gradient + (x - center) * slope + constant. It may replace the gradient.
  void (*input_gradient)(Value* out, const float* slope, const float* constant, const GradientRows<Value>& work);
};

// Those of one instruction set.
struct BatchNormLevel {
  BatchNormKernels<float> floats;
  BatchNormKernels<Bfloat16> bfloats;
};
extern const BatchNormLevel kBatchNormAvx2, kBatchNormAvx512;

// For this CPU; null where it has not enough.
const BatchNormLevel* batch_norm_level();

}  // namespace lockstep::kernels
