#include <ATen/TracerMode.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

#include "../kept.h"
#include "../parallel.h"
#include "../recorded.h"
#include "channels_last.h"
#include "pool.h"
#include "pool_kernels.h"
#include "single_derivative.h"
#include "values.h"

namespace lockstep::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The dimension of a shape that is dimension `i` of a picture or a volume.
std::int64_t in_shape(std::int64_t dimensions, std::int64_t i) {
  return i + 3 - dimensions;
}

PoolShape shape_of(const at::Tensor& input, const MaxPool& options) {
  PoolShape shape{.channels = input.size(1), .in = {1, 1, 1}, .out = {1, 1, 1}, .kernel = {1, 1, 1}};
  for (std::int64_t i = 2; i < input.dim(); ++i) {
    const std::int64_t to = in_shape(input.dim(), i);
    shape.in[to] = input.size(i);
    shape.out[to] = (input.size(i) + 2 * options.padding - options.kernel) / options.stride + 1;
    shape.kernel[to] = options.kernel;
    shape.padding[to] = options.padding;
  }
  for (std::int64_t& stride : shape.stride) stride = options.stride;
  if (options.slope) shape.act = *options.slope == 0 ? PoolAct::kRelu : PoolAct::kLeakyRelu;
  shape.slope = static_cast<float>(options.slope.value_or(0));
  return shape;
}

// Of as many samples and dimensions as `like`, in the sizes of the input (shape.in) or the output.
at::Tensor empty_batch(const at::Tensor& like, const PoolShape& shape, const std::int64_t (&sizes)[3],
                       at::ScalarType type) {
  std::vector<std::int64_t> all = {like.size(0), shape.channels};
  for (std::int64_t i = 2; i < like.dim(); ++i) all.push_back(sizes[in_shape(like.dim(), i)]);
  const auto format = like.dim() == 4 ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::ChannelsLast3d;
  return at::empty(all, at::TensorOptions(type).memory_format(format));
}

// Calls body(begin, end) for parts of the rows of all samples.
template <typename Body>
void for_rows(std::int64_t samples, const std::int64_t (&sizes)[3], std::int64_t channels, const Body& body) {
  constexpr std::int64_t kFloats = 1 << 14;  // not worth a thread's time
  parallel_for(0, samples * sizes[0] * sizes[1], std::max<std::int64_t>(1, kFloats / (sizes[2] * channels)), body);
}

class FusedMaxPool : public torch::autograd::Function<FusedMaxPool> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, const MaxPool& options) {
    const PoolShape shape = shape_of(input, options);
    at::Tensor output = empty_batch(input, shape, shape.out, input.scalar_type());
    const at::Tensor places = empty_batch(input, shape, shape.out, at::kByte);
    const Recorded recorded("lockstep::max_pool", {.bytes = bytes_of({input, output, places})});
    with_values_of(input, [&]<typename Value>(Value) {
      for_rows(input.size(0), shape.out, shape.channels, [&](std::int64_t begin, std::int64_t end) {
        kernels_for<Value>(*pool_level())
            .max_pool(shape, mutable_values_of<Value>(output), places.mutable_data_ptr<std::uint8_t>(),
                      values_of<Value>(input), begin, end);
      });
    });
    context->save_for_backward({places});
    context->saved_data["shape"] = keep(shape);
    return output;
  }

  static variable_list backward(AutogradContext* context, variable_list& gradients) {
    require_single_derivative("pooling");
    const at::Tensor places = context->get_saved_variables()[0];
    const auto& shape = kept<PoolShape>(context->saved_data["shape"]);
    const at::Tensor gradient = take_channels_last(gradients[0], places);
    at::Tensor result = empty_batch(places, shape, shape.in, gradient.scalar_type());
    const Recorded recorded("lockstep::max_pool_backward", {.bytes = bytes_of({gradient, places, result})});
    with_values_of(gradient, [&]<typename Value>(Value) {
      for_rows(places.size(0), shape.in, shape.channels, [&](std::int64_t begin, std::int64_t end) {
        kernels_for<Value>(*pool_level())
            .max_pool_gradient(shape, mutable_values_of<Value>(result), values_of<Value>(gradient),
                               places.const_data_ptr<std::uint8_t>(), begin, end);
      });
    });
    return {result, {}};
  }
};

}  // namespace

bool can_fused_max_pool(const at::Tensor& input, const MaxPool& options) {
  if (pool_level() == nullptr || at::tracer::impl::is_dispatch_enabled()) return false;
  if (input.dim() < 4 || !is_cpu_channels_last(input) || input.numel() == 0) return false;
  if (options.kernel < 1 || options.stride < 1 || options.padding < 0 || 2 * options.padding > options.kernel)
    return false;
  if (options.slope && !(*options.slope >= 0)) return false;  // the order of values would not stay
  std::int64_t places = 1;
  for (std::int64_t i = 2; i < input.dim(); ++i) {
    if (input.size(i) + 2 * options.padding < options.kernel || options.kernel > kNotPositive) return false;
    places *= options.kernel;
  }
  return places <= kNotPositive;
}

at::Tensor fused_max_pool(const at::Tensor& input, const MaxPool& options) {
  return FusedMaxPool::apply(input, options);
}

}  // namespace lockstep::kernels
