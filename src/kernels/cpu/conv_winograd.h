// Convolutions by winograd.h: of pictures, with weights of 3 x 3 or 5 x 5, stride 1, channels in sixteens.
#pragma once
#include "conv_shape.h"
#include "grid_products.h"

namespace lockstep::kernels::cpu {

bool fits_winograd(const ConvShape& shape);

void winograd_forward(const Products& products, const ConvShape& shape, const float* input, const float* weight,
                      float* output, const Finish& finish);
void winograd_input_gradient(const Products& products, const ConvShape& shape, const float* output_gradient,
                             const float* weight, float* input_gradient);
void winograd_weight_gradient(const Products& products, const ConvShape& shape, const float* input,
                              const float* output_gradient, float* weight_gradient);

}  // namespace lockstep::kernels::cpu
