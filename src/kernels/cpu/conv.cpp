#include "conv.h"

#include <algorithm>
#include <numeric>

#include <ATen/Parallel.h>

#include <ATen/ops/empty.h>
#include "../parallel.h"
#include "conv_winograd.h"

namespace lockstep::kernels::cpu {
namespace {

// With few channels, the weights of one line of the kernel are taken as one: their pixels lie side by side in memory,
// once the picture has its border of zeros.
bool takes_lines(const ConvShape& shape) {
  constexpr std::int64_t kFew = 8;
  return shape.inputs < kFew && shape.kernel[2] > 1 && shape.dilation[2] == 1;
}

Extents padded_size(const ConvShape& shape) {
  Extents size{};
  for (std::size_t i = 0; i < 3; ++i) size[i] = shape.in[i] + 2 * shape.padding[i];
  return size;
}

at::Tensor padded(const ConvShape& shape, const float* input) {
  const Extents size = padded_size(shape);
  const std::int64_t line = size[2] * shape.inputs, inner = shape.in[2] * shape.inputs;
  at::Tensor result = at::empty({shape.batch * size[0] * size[1] * line}, at::kFloat);
  float* to = result.mutable_data_ptr<float>();
  parallel_for(0, shape.batch * size[0], 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t slice = begin; slice < end; ++slice) {
      const std::int64_t z = slice % size[0] - shape.padding[0];
      for (std::int64_t row = 0; row < size[1]; ++row) {
        const std::int64_t y = row - shape.padding[1];
        float* line_to = to + (slice * size[1] + row) * line;
        if (z < 0 || z >= shape.in[0] || y < 0 || y >= shape.in[1]) {
          std::fill_n(line_to, line, 0.0F);
          continue;
        }
        const float* from = input + ((slice / size[0] * shape.in[0] + z) * shape.in[1] + y) * inner;
        line_to = std::fill_n(line_to, shape.padding[2] * shape.inputs, 0.0F);
        line_to = std::copy_n(from, inner, line_to);
        std::fill_n(line_to, shape.padding[2] * shape.inputs, 0.0F);
      }
    }
  });
  return result;
}

// The map over a picture with its border, a tap for each line of the kernel.
GridMap line_map(const ConvShape& shape) {
  ConvShape lines = shape;
  lines.in = padded_size(shape);
  lines.padding = {0, 0, 0};
  GridMap map = output_map(lines);
  std::erase_if(map.taps, [](const Extents& tap) { return tap[2] != 0; });
  return map;
}

}  // namespace

void conv_forward(const Products& products, const ConvShape& shape, const float* input, const float* weight,
                  float* output, const Finish& finish) {
  if (fits_winograd(shape)) return winograd_forward(products, shape, input, weight, output, finish);
  if (takes_lines(shape)) {
    const auto weights = pack_columns(products, weight, shape.outputs, shape.kernel[0] * shape.kernel[1],
                                      shape.kernel[2] * shape.inputs);
    const at::Tensor source = padded(shape, input);
    return multiply_pixels(products, line_map(shape), source.const_data_ptr<float>(), weights, output, finish);
  }
  const auto weights = pack_columns(products, weight, shape.outputs, shape.taps(), shape.inputs);
  multiply_pixels(products, output_map(shape), input, weights, output, finish);
}

void conv_input_gradient(const Products& products, const ConvShape& shape, const float* output_gradient,
                         const float* weight, float* input_gradient) {
  if (fits_winograd(shape)) return winograd_input_gradient(products, shape, output_gradient, weight, input_gradient);
  for (const InputMap& part : input_maps(shape)) {
    const auto weights = pack_rows(products, weight, shape.outputs, shape.taps(), part.taps, shape.inputs);
    multiply_pixels(products, part.map, output_gradient, weights, input_gradient);
  }
}

void conv_weight_gradient(const Products& products, const ConvShape& shape, const float* input,
                          const float* output_gradient, float* weight_gradient) {
  if (fits_winograd(shape)) return winograd_weight_gradient(products, shape, input, output_gradient, weight_gradient);
  if (takes_lines(shape)) {
    const at::Tensor source = padded(shape, input);
    return multiply_outer(products, line_map(shape), source.const_data_ptr<float>(), shape.kernel[2] * shape.inputs,
                          output_gradient, weight_gradient);
  }
  multiply_outer(products, output_map(shape), input, shape.inputs, output_gradient, weight_gradient);
}

}  // namespace lockstep::kernels::cpu
