// A product of rows and weights and its batch normalization, by tensors.
#pragma once
#include <lockstep/kernels/batch_norm.h>

namespace lockstep::kernels::cuda {

// What the forward pass keeps for the backward pass, beside the input and the weights.
struct KeptStatistics {
  at::Tensor sums;         // of the input
  at::Tensor covariances;  // of each output with all inputs
  at::Tensor channels;     // three rows: mean, scale, and one over the deviation of each output
};

// The weights and the offset of a product that gives normalized results.
struct FoldedProduct {
  at::Tensor weight, offset;
  KeptStatistics kept;
};
FoldedProduct fold(const at::Tensor& input, const at::Tensor& weight, const BatchNormState& state);

// With the shortcut and the ReLU of `options`. `positive` gets the ReLU's bits, and is undefined where there is none.
at::Tensor normalized_product(const at::Tensor& input, const FoldedProduct& folded, const NormAct& options,
                              const at::Tensor& positive);

// Of what was normalized, and its sums over rows: of each channel one, or one for each of several parts.
struct NormalizedGradient {
  at::Tensor values, sums;
};
struct ProductGradients {
  at::Tensor input;  // undefined where it is not wanted
  at::Tensor weight, norm_weight, norm_bias;
};
ProductGradients gradients_of(const at::Tensor& input, const at::Tensor& weight, const KeptStatistics& kept,
                              const NormalizedGradient& gradient, bool wants_input);

// Of each channel, over all rows.
at::Tensor sums_of(const at::Tensor& tensor);

}  // namespace lockstep::kernels::cuda
