// Convolutions under autocast whose gradients are products of matrices.
#pragma once
#include <lockstep/kernels/convolution.h>

namespace lockstep::kernels {

// Whether the weight's gradient is wanted, and faster as one product of matrices: many weights for few pixels, in
// bfloat16. There each of oneDNN's threads has all weights to itself, and these are added up in the end, which takes
// longer than all else.
bool can_product_convolve(const at::Tensor& input, const at::Tensor& weight, const ConvolutionOptions& options);

// As autocast has it: input, weight and bias in bfloat16. The result is channels-last.
at::Tensor product_convolve(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                            const ConvolutionOptions& options);

}  // namespace lockstep::kernels
