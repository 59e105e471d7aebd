#include <lockstep/kernels/linear.h>

#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

#include <lockstep/kernels/linear_factors.h>

#include "cpu/channels_last.h"
#include "cpu/linear_kernels.h"
#include "cpu/plain_forward.h"
#include "cpu/row_gap.h"
#include "cpu/single_derivative.h"
#include "kept.h"
#include "parallel.h"
#include "recorded.h"

namespace lockstep::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

LinearShape shape_of(const LinearFactors& rows, const at::Tensor& weight) {
  return {.samples = rows.input.size(0),
          .features = weight.size(1),
          .outputs = weight.size(0),
          .input_stride = rows.input.stride(0),
          .output_stride = rows.gradient.stride(0)};
}

// Of one of the three products.
Recorded recorded(const char* name, const LinearShape& shape) {
  const auto values = static_cast<double>(shape.samples * (shape.features + shape.outputs));
  const auto weights = static_cast<double>(shape.features * shape.outputs);
  return Recorded(name, {.flop = 2 * static_cast<double>(shape.samples) * weights, .bytes = 4 * (values + weights)});
}

at::Tensor rows_of(const at::Tensor& like, std::int64_t samples, std::int64_t columns) {
  return at::empty({samples, columns}, like.options());
}

// The input, or a copy of it whose rows do not collide.
at::Tensor in_distinct_lines(const at::Tensor& any_input) {
  const at::Tensor input = any_input.contiguous();
  if (!would_collide(input.size(1))) return input;
  return empty_rows_with_gap(input.size(0), input.size(1), input.options()).copy_(input);
}

constexpr std::int64_t kGrain = 64;  // outputs or features that are worth a thread's time

// Calls body(begin, end, scratch) for parts of the outputs or the features, on all threads.
template <typename Body>
void for_parts(const LinearShape& shape, std::int64_t count, Body body) {
  parallel_for(0, count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    const at::Tensor scratch = at::empty({linear_kernels()->scratch(shape.samples)}, at::kFloat);
    body(begin, end, scratch.mutable_data_ptr<float>());
  });
}

class Linear : public torch::autograd::Function<Linear> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& any_input, const at::Tensor& any_weight,
                            const at::Tensor& any_bias, const FactorExchange& exchange) {
    const at::Tensor input = in_distinct_lines(any_input), weight = any_weight.contiguous();
    const at::Tensor bias = any_bias.contiguous();
    at::Tensor output = rows_of(input, input.size(0), weight.size(0));
    const LinearShape shape = shape_of({output, input}, weight);
    const Recorded operation = recorded("lockstep::linear", shape);
    for_parts(shape, shape.outputs, [&](std::int64_t begin, std::int64_t end, float* scratch) {
      linear_kernels()->forward(shape, input.const_data_ptr<float>(), weight.const_data_ptr<float>(),
                                bias.const_data_ptr<float>(), output.mutable_data_ptr<float>(), begin, end, scratch);
    });
    context->save_for_backward({input, weight});
    context->saved_data["exchange"] = keep(exchange);
    return output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    require_single_derivative("linear layer");
    const auto saved = context->get_saved_variables();
    const at::Tensor &input = saved[0], &weight = saved[1];
    const LinearFactors own{gradients[0].contiguous(), input};
    variable_list results(4);
    if (context->needs_input_grad(0)) results[0] = input_gradient(own, weight);
    if (context->needs_input_grad(1)) {
      results[1] = at::empty(weight.sizes(), weight.options());
      const auto& exchange = kept<FactorExchange>(context->saved_data["exchange"]);
      const LinearFactors factors = exchange ? exchange(own, results[1]) : own;
      if (factors.input.defined()) multiply(factors, {results[1]}, 0, weight.size(0));
    }
    if (context->needs_input_grad(2)) results[2] = own.gradient.sum(0);
    return results;
  }

 private:
  static at::Tensor input_gradient(const LinearFactors& own, const at::Tensor& weight) {
    at::Tensor result = rows_of(own.input, own.input.size(0), own.input.size(1));
    const LinearShape shape = shape_of({own.gradient, result}, weight);
    const Recorded operation = recorded("lockstep::linear_input_gradient", shape);
    for_parts(shape, shape.features, [&](std::int64_t begin, std::int64_t end, float* scratch) {
      linear_kernels()->input_gradient(shape, own.gradient.const_data_ptr<float>(), weight.const_data_ptr<float>(),
                                       result.mutable_data_ptr<float>(), begin, end, scratch);
    });
    return result;
  }
};

}  // namespace

void multiply(const LinearFactors& factors, const std::vector<at::Tensor>& results, std::int64_t first_row,
              std::int64_t end_row) {
  constexpr std::size_t kMostInCaches = std::size_t{16} << 20;
  const LinearShape shape = shape_of(factors, results[0]);
  if (shape.samples == 0) {
    for (const at::Tensor& result : results) result.slice(0, first_row, end_row).zero_();
    return;
  }
  std::vector<float*> places;
  for (const at::Tensor& result : results) places.push_back(result.mutable_data_ptr<float>());
  LinearShape rows = shape;
  rows.outputs = end_row - first_row;
  const Recorded operation = recorded("lockstep::linear_weight_gradient", rows);
  parallel_for(first_row, end_row, kGrain, [&](std::int64_t begin, std::int64_t end) {
    linear_kernels()->weight_gradient(shape, factors.gradient.const_data_ptr<float>(),
                                      factors.input.const_data_ptr<float>(), places, begin, end,
                                      /*past_caches=*/results[0].nbytes() > kMostInCaches);
  });
}

bool can_linear(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias) {
  constexpr std::int64_t kWeights = 1 << 20, kSamples = 64;
  for (const at::Tensor& tensor : {input, weight, bias}) {
    if (!tensor.defined() || !is_cpu_float(tensor)) return false;
  }
  if (input.dim() != 2 || weight.dim() != 2 || bias.dim() != 1 || bias.size(0) != weight.size(0) ||
      weight.size(1) != input.size(1) || weight.numel() < kWeights)
    return false;
  const std::int64_t samples = input.size(0);
  if (!is_plain_forward()) return false;
  return (linear_kernels() != nullptr && samples > 0 && samples <= kSamples) || SharedFactors::find(weight, samples);
}

at::Tensor linear(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias) {
  return Linear::apply(input, weight, bias, SharedFactors::find(weight, input.size(0)));
}

}  // namespace lockstep::kernels
