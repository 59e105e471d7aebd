// The three products of a linear layer with many weights and few samples. Each weight is read once, and each of their
// gradients written once, along rows; what belongs to the samples stays in a core's caches meanwhile.
#pragma once
#include <cstdint>
#include <span>

namespace lockstep::kernels {

// Weights are dense; the rows of samples may be farther apart.
struct LinearShape {
  std::int64_t samples = 0, features = 0, outputs = 0;
  std::int64_t input_stride = 0;   // from row to row of [sample][feature]
  std::int64_t output_stride = 0;  // and of [sample][output]
};

// One level's. Each computes a part of the outputs, or of the features; parts do not depend on one another.
struct LinearKernels {
  std::int64_t (*scratch)(std::int64_t samples);  // floats that a part needs

  // output[s][o] = bias[o] + sum over k of input[s][k] * weight[o][k]
  void (*forward)(const LinearShape& shape, const float* input, const float* weight, const float* bias, float* output,
                  std::int64_t first_output, std::int64_t end_output, float* scratch);

  // input_gradient[s][k] = sum over o of gradient[s][o] * weight[o][k]
  void (*input_gradient)(const LinearShape& shape, const float* gradient, const float* weight, float* input_gradient,
                         std::int64_t first_feature, std::int64_t end_feature, float* scratch);

  // result[o][k] = sum over s of gradient[s][o] * input[s][k], for each of the results; with `past_caches` they are not
  // kept in them.
  void (*weight_gradient)(const LinearShape& shape, const float* gradient, const float* input,
                          std::span<float* const> results, std::int64_t first_output, std::int64_t end_output,
                          bool past_caches);
};

extern const LinearKernels kLinearKernelsAvx2, kLinearKernelsAvx512;

// For this CPU; nullptr where it has not even AVX2.
const LinearKernels* linear_kernels();

}  // namespace lockstep::kernels
