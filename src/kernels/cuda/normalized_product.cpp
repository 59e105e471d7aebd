#include "normalized_product.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>

#include "../batch_norm_devices.h"
#include "products.h"
#include "tensors.h"

namespace lockstep::kernels::cuda {
namespace {

at::Tensor empty_floats(at::IntArrayRef sizes, const at::Tensor& like) {
  return at::empty(sizes, at::TensorOptions(at::kFloat).device(like.device()));
}

ProductNorm shared_work(const at::Tensor& input, const at::Tensor& weight, const KeptStatistics& kept) {
  float* const channels = kept.channels.mutable_data_ptr<float>();
  const std::int64_t outputs = weight.size(0);
  return {.rows = rows_of(input).rows,
          .inputs = static_cast<int>(weight.size(1)),
          .outputs = static_cast<int>(outputs),
          .weight = weight.const_data_ptr(),
          .sums = kept.sums.mutable_data_ptr<float>(),
          .covariances = kept.covariances.mutable_data_ptr<float>(),
          .mean = channels,
          .scale = channels + outputs,
          .inverse = channels + 2 * outputs};
}

}  // namespace

FoldedProduct fold(const at::Tensor& input, const at::Tensor& weight, const BatchNormState& state) {
  const at::Tensor rows = matrix_of(input);
  const at::Tensor products = at::mm(rows.t(), rows, at::kFloat);
  const std::int64_t outputs = weight.size(0), inputs = weight.size(1);
  const FoldedProduct folded{.weight = at::empty({outputs, inputs}, weight.options()),
                             .offset = empty_floats({outputs}, weight),
                             .kept = {.sums = empty_floats({inputs}, weight),
                                      .covariances = empty_floats({outputs, inputs}, weight),
                                      .channels = empty_floats({3, outputs}, weight)}};
  at::Tensor sum_parts = sums_of_cuda_batch_norm_act(input);
  if (!sum_parts.defined()) sum_parts = sums_of(input);
  kernels_on(input.device())
      ->product_norm({.shared = shared_work(input, weight, folded.kept),
                      .sum_parts = sum_parts.const_data_ptr<float>(),
                      .parts = static_cast<int>(sum_parts.numel() / inputs),
                      .products = products.const_data_ptr<float>(),
                      .weight = state.weight.const_data_ptr<float>(),
                      .bias = state.bias.const_data_ptr<float>(),
                      .running_mean = floats_of(state.running_mean),
                      .running_var = floats_of(state.running_var),
                      .batches = longs_of(state.batches),
                      .momentum = state.momentum,
                      .eps = state.eps,
                      .folded = folded.weight.mutable_data_ptr(),
                      .offset = folded.offset.mutable_data_ptr<float>()});
  return folded;
}

at::Tensor normalized_product(const at::Tensor& input, const FoldedProduct& folded, const NormAct& options,
                              const at::Tensor& positive) {
  const std::int64_t outputs = folded.weight.size(0);
  at::Tensor output = at::empty({input.size(0), outputs, input.size(2), input.size(3)}, input.options(),
                                at::MemoryFormat::ChannelsLast);
  RowsProduct work{.rows = rows_of(input).rows,
                   .outputs = static_cast<int>(outputs),
                   .then = options.relu ? RowsProduct::Then::kRelu : RowsProduct::Then::kBias,
                   .bias = folded.offset.const_data_ptr<float>(),
                   .add = options.shortcut.defined() ? options.shortcut.const_data_ptr() : nullptr,
                   .positive = options.relu ? positive.mutable_data_ptr<std::uint8_t>() : nullptr,
                   .y = output.mutable_data_ptr()};
  work.terms[0] = term_of(input, folded.weight);
  kernels_on(input.device())->rows_product(work);
  return output;
}

ProductGradients gradients_of(const at::Tensor& input, const at::Tensor& weight, const KeptStatistics& kept,
                              const NormalizedGradient& gradient, bool wants_input) {
  const std::int64_t outputs = weight.size(0), inputs = weight.size(1);
  const at::Tensor products = at::mm(matrix_of(gradient.values).t(), matrix_of(input), at::kFloat);
  ProductGradients results{.weight = at::empty_like(weight),
                           .norm_weight = empty_floats({outputs}, weight),
                           .norm_bias = empty_floats({outputs}, weight)};
  const at::Tensor scaled = at::empty({outputs, inputs}, weight.options());
  const at::Tensor corrections = at::empty({outputs, inputs + kCorrectionColumns}, weight.options());
  const Kernels& kernels = *kernels_on(input.device());
  kernels.product_norm_gradient({.shared = shared_work(input, weight, kept),
                                 .products = products.const_data_ptr<float>(),
                                 .gradient_sums = gradient.sums.const_data_ptr<float>(),
                                 .parts = static_cast<int>(gradient.sums.numel() / outputs),
                                 .weight_gradient = results.weight.mutable_data_ptr(),
                                 .norm_weight_gradient = results.norm_weight.mutable_data_ptr<float>(),
                                 .norm_bias_gradient = results.norm_bias.mutable_data_ptr<float>(),
                                 .scaled = scaled.mutable_data_ptr(),
                                 .corrections = corrections.mutable_data_ptr()});
  if (!wants_input) return results;
  const at::Tensor matrix = at::mm(corrections.t(), weight.view({outputs, inputs}));
  results.input = at::empty_like(input);
  RowsProduct work{.rows = rows_of(input).rows,
                   .outputs = static_cast<int>(inputs),
                   .late_bias = matrix.select(0, inputs).const_data_ptr(),
                   .y = results.input.mutable_data_ptr()};
  work.terms[0] = term_of(gradient.values, scaled);
  work.terms[1] = term_of(input, matrix);
  kernels.rows_product(work);
  return results;
}

at::Tensor sums_of(const at::Tensor& tensor) {
  at::Tensor sums = empty_floats({tensor.size(1)}, tensor);
  kernels_on(tensor.device())
      ->bias_gradient({.shape = rows_of(tensor),
                       .gradient = tensor.const_data_ptr(),
                       .bias_gradient = sums.mutable_data_ptr<float>()});
  return sums;
}

}  // namespace lockstep::kernels::cuda
