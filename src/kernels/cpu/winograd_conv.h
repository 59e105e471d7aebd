// Convolutions by winograd.h, and their gradients, on all threads.
#pragma once
#include "conv_shape.h"

namespace lockstep::kernels {

// Whether these are fast for it: weights of 3 x 3 or 5 x 5, channels in sixteens, and enough tiles to make up for the
// transforms of the weights. Needs AVX2.
bool suits_winograd(const ConvShape& shape);

// `bias` may be nullptr.
void winograd_forward(const ConvShape& shape, const float* input, const float* weight, const float* bias, bool relu,
                      float* output);
void winograd_input_gradient(const ConvShape& shape, const float* output_gradient, const float* weight,
                             float* input_gradient);
void winograd_weight_gradient(const ConvShape& shape, const float* input, const float* output_gradient,
                              float* weight_gradient);

}  // namespace lockstep::kernels
