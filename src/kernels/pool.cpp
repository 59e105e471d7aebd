#include <lockstep/kernels/pool.h>

#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/max_pool3d.h>
#include <ATen/ops/relu.h>

#include <lockstep/kernels/engine.h>
#include <lockstep/kernels/fallback.h>

#include "bias.h"
#include "cpu/pool.h"
#include "cuda/pool.h"

namespace lockstep::kernels {
namespace {

at::Tensor with_bias(at::Tensor input, const MaxPool& options) {
  const at::Tensor bias = bias_for(input, options.bias);
  return options.owns_input ? input.add_(bias) : input.add(bias);
}

MaxPool without_bias(MaxPool options) {
  options.bias = at::Tensor();
  options.owns_input = true;  // that is the sum
  return options;
}

at::Tensor rectified(at::Tensor input, const MaxPool& options) {
  if (!options.slope) return input;
  if (*options.slope != 0) return at::leaky_relu(input, *options.slope);
  return options.owns_input ? at::relu_(input) : at::relu(input);
}

}  // namespace

at::Tensor max_pool(at::Tensor input, const MaxPool& options) {
  const bool fused = engine() == Engine::kFused;
  if (fused && can_cuda_max_pool(input, options)) return cuda_max_pool(input, options);
  if (options.bias.defined()) return max_pool(with_bias(std::move(input), options), without_bias(options));
  if (fused && can_fused_max_pool(input, options)) return fused_max_pool(input, options);
  tell_fallback("max pooling", input);
  const auto pool = input.dim() == 5 ? at::max_pool3d : at::max_pool2d;
  return pool(rectified(std::move(input), options), options.kernel, options.stride, options.padding, 1, false);
}

at::Tensor global_average_pool(const at::Tensor& input) {
  if (engine() == Engine::kFused) {
    if (can_fused_average_pool(input)) return fused_average_pool(input);
    if (can_cuda_average_pool(input)) return cuda_average_pool(input);
  }
  tell_fallback("average pooling", input);
  return at::adaptive_avg_pool2d(input, {1, 1});
}

}  // namespace lockstep::kernels
