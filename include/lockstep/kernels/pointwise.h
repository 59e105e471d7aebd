// Convolutions whose window is one place, with a batch normalization behind them, as one product.
#pragma once
#include <lockstep/kernels/batch_norm.h>

namespace lockstep::kernels {

// Whether pointwise_norm_act takes these: a batch on an NVIDIA GPU of compute capability 9.0, channels last, all of
// bfloat16 but the normalization's parameters and statistics, by the batch's own statistics; in channels that are
// multiples of 64, at least twice as many of them after the convolution as before, and rows enough that reading them
// less often pays.
bool can_pointwise_norm_act(const at::Tensor& input, const at::Tensor& weight, const BatchNormState& state,
                            const NormAct& options);

// As a convolution of stride 1, then batch_norm_act_for_two(). The convolution's result is never in memory: its mean
// and its covariances follow from those of the input, so it can be computed as normalized. And so can the gradients.
// Differentiable once; the two results may each be read in one place only.
ForTwo pointwise_norm_act(const at::Tensor& input, const at::Tensor& weight, const BatchNormState& state,
                          const NormAct& options);

}  // namespace lockstep::kernels
