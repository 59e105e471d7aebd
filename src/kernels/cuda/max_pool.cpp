#include <limits>

#include <ATen/TracerMode.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <torch/csrc/autograd/custom_function.h>

#include "../cpu/single_derivative.h"
#include "../kept.h"
#include "bias_act.h"
#include "pool.h"
#include "tensors.h"

namespace lockstep::kernels {
namespace {

using cuda::PoolAct;
using cuda::PoolShape;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The dimension of a shape that is dimension `i` of a picture or a volume.
int in_shape(std::int64_t dimensions, std::int64_t i) {
  return static_cast<int>(i + 3 - dimensions);
}

PoolShape shape_of(const at::Tensor& input, const MaxPool& options) {
  PoolShape shape{.type = cuda::number_of(input),
                  .samples = static_cast<int>(input.size(0)),
                  .channels = static_cast<int>(input.size(1))};
  for (std::int64_t i = 2; i < input.dim(); ++i) {
    const int to = in_shape(input.dim(), i);
    shape.in[to] = static_cast<int>(input.size(i));
    shape.out[to] = static_cast<int>((input.size(i) + 2 * options.padding - options.kernel) / options.stride + 1);
    shape.kernel[to] = static_cast<int>(options.kernel);
    shape.stride[to] = static_cast<int>(options.stride);
    shape.padding[to] = static_cast<int>(options.padding);
  }
  return shape;
}

PoolAct act_of(const MaxPool& options) {
  return {.there = options.slope.has_value(), .slope = static_cast<float>(options.slope.value_or(0))};
}

// Of as many samples and dimensions as `like`, in the sizes of the input (shape.in) or the output.
at::Tensor empty_batch(const at::Tensor& like, const PoolShape& shape, const int (&sizes)[3], at::ScalarType type) {
  std::vector<std::int64_t> all = {shape.samples, shape.channels};
  for (std::int64_t i = 2; i < like.dim(); ++i) all.push_back(sizes[in_shape(like.dim(), i)]);
  const auto format = like.dim() == 4 ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::ChannelsLast3d;
  return at::empty(all, at::TensorOptions(type).device(like.device()).memory_format(format));
}

struct Pool {
  PoolShape shape;
  PoolAct act;
};

class CudaMaxPool : public torch::autograd::Function<CudaMaxPool> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, const std::optional<at::Tensor>& bias,
                            const MaxPool& options) {
    const PoolShape shape = shape_of(input, options);
    const PoolAct act = act_of(options);
    at::Tensor output = empty_batch(input, shape, shape.out, input.scalar_type());
    const at::Tensor places = empty_batch(input, shape, shape.out, at::kByte);
    cuda::kernels_on(input.device())
        ->max_pool({.shape = shape,
                    .act = act,
                    .x = input.const_data_ptr(),
                    .bias = bias ? bias->const_data_ptr<float>() : nullptr,
                    .y = output.mutable_data_ptr(),
                    .places = places.mutable_data_ptr<std::uint8_t>()});
    context->save_for_backward({places});
    context->saved_data["adds"] = bias.has_value();
    context->saved_data["pool"] = keep(Pool{shape, act});
    return output;
  }

  static variable_list backward(AutogradContext* context, variable_list& gradients) {
    require_single_derivative("pooling");
    const at::Tensor places = context->get_saved_variables()[0];
    const auto& pool = kept<Pool>(context->saved_data["pool"]);
    const at::Tensor gradient = cuda::take_gradient(gradients[0], places);
    const bool of_bias = context->saved_data["adds"].toBool() && context->needs_input_grad(1);
    variable_list results(3);  // as many as forward has arguments
    if (context->needs_input_grad(0)) {
      results[0] = empty_batch(places, pool.shape, pool.shape.in, gradient.scalar_type());
    }
    if (of_bias) results[1] = at::empty({places.size(1)}, gradient.options().dtype(at::kFloat));
    cuda::kernels_on(places.device())
        ->max_pool_gradient({.shape = pool.shape,
                             .act = pool.act,
                             .gradient = gradient.const_data_ptr(),
                             .places = places.const_data_ptr<std::uint8_t>(),
                             .x_gradient = results[0].defined() ? results[0].mutable_data_ptr() : nullptr,
                             .bias_gradient = of_bias ? results[1].mutable_data_ptr<float>() : nullptr});
    return results;
  }
};

}  // namespace

bool can_cuda_max_pool(const at::Tensor& input, const MaxPool& options) {
  if (cuda::kernels_on(input.device()) == nullptr || at::tracer::impl::is_dispatch_enabled()) return false;
  if (input.dim() < 4 || !cuda::is_taken(input)) return false;
  if (options.bias.defined() && !can_cuda_bias_act(input, options.bias)) return false;
  if (options.kernel < 1 || options.stride < 1 || options.padding < 0 || 2 * options.padding > options.kernel)
    return false;
  if (options.slope && !(*options.slope >= 0)) return false;  // the order of values would not stay
  constexpr std::int64_t kPlaces = 128;                       // that a window can have
  // Numbers of vectors, of the inputs and of the outputs, are unsigned ints.
  constexpr std::int64_t kMostValues = std::numeric_limits<int>::max();
  std::int64_t places = 1, outputs = input.size(0) * input.size(1);
  for (std::int64_t i = 2; i < input.dim(); ++i) {
    if (input.size(i) + 2 * options.padding < options.kernel || options.kernel > kPlaces) return false;
    places *= options.kernel;
    outputs *= (input.size(i) + 2 * options.padding - options.kernel) / options.stride + 1;
  }
  return places <= kPlaces && input.numel() <= kMostValues && outputs <= kMostValues;
}

at::Tensor cuda_max_pool(const at::Tensor& input, const MaxPool& options) {
  const c10::DeviceGuard guard(input.device());
  const auto bias = options.bias.defined() ? std::optional(options.bias) : std::nullopt;
  return CudaMaxPool::apply(input, bias, options);
}

}  // namespace lockstep::kernels
