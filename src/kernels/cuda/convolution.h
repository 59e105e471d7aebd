// Convolutions on a GPU that are done in another way than libtorch's.
#pragma once
#include <lockstep/kernels/convolution.h>

namespace lockstep::kernels {

bool can_cuda_convolve(const at::Tensor& input, const at::Tensor& weight, const ConvolutionOptions& options);
at::Tensor cuda_convolve(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                         const ConvolutionOptions& options);

}  // namespace lockstep::kernels
