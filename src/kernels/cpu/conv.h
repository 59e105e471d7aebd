// A convolution and its gradients, over dense channels-last memory.
#pragma once
#include "conv_shape.h"
#include "grid_products.h"

namespace lockstep::kernels::cpu {

void conv_forward(const Products& products, const ConvShape& shape, const float* input, const float* weight,
                  float* output, const Finish& finish);
void conv_input_gradient(const Products& products, const ConvShape& shape, const float* output_gradient,
                         const float* weight, float* input_gradient);
void conv_weight_gradient(const Products& products, const ConvShape& shape, const float* input,
                          const float* output_gradient, float* weight_gradient);

}  // namespace lockstep::kernels::cpu
