// Convolutions on a GPU that are done in another way than libtorch's.
#pragma once
#include <lockstep/kernels/convolution.h>

namespace lockstep::kernels {

// Of pictures with few channels.
bool can_cuda_convolve(const at::Tensor& input, const at::Tensor& weight, const ConvolutionOptions& options);
at::Tensor cuda_convolve(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                         const ConvolutionOptions& options);

// By products of our own.
bool can_window_convolve(const at::Tensor& input, const at::Tensor& weight, const ConvolutionOptions& options);
at::Tensor window_convolve(const at::Tensor& input, const at::Tensor& weight);

// What is known of the values of a result of these, where it needs a gradient: [part][channel] of KnownValues.
// Undefined for other tensors.
at::Tensor known_of_cuda_convolve(const at::Tensor& result);
at::Tensor known_of_window_convolve(const at::Tensor& result);

}  // namespace lockstep::kernels
