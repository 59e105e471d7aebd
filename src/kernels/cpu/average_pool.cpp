#include <ATen/TracerMode.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

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

// Samples that are worth a thread's time.
std::int64_t grain(std::int64_t floats) {
  constexpr std::int64_t kFloats = 1 << 15;
  return std::max<std::int64_t>(1, kFloats / floats);
}

class FusedAveragePool : public torch::autograd::Function<FusedAveragePool> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input) {
    const std::int64_t channels = input.size(1), positions = input.size(2) * input.size(3);
    at::Tensor output = at::empty({input.size(0), channels, 1, 1}, input.options());
    const Recorded recorded("lockstep::average_pool", {.bytes = bytes_of({input, output})});
    with_values_of(input, [&]<typename Value>(Value) {
      const Value* x = values_of<Value>(input);
      Value* y = mutable_values_of<Value>(output);
      parallel_for(0, input.size(0), grain(positions * channels), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t sample = begin; sample < end; ++sample) {
          kernels_for<Value>(*pool_level())
              .average(y + sample * channels, x + sample * positions * channels, positions, channels);
        }
      });
    });
    context->saved_data["sizes"] = input.sizes().vec();
    return output;
  }

  static variable_list backward(AutogradContext* context, variable_list& gradients) {
    require_single_derivative("pooling");
    const std::vector<std::int64_t> sizes = context->saved_data["sizes"].toIntVector();
    const std::int64_t channels = sizes[1], positions = sizes[2] * sizes[3];
    const at::Tensor gradient = gradients[0].contiguous();
    at::Tensor result = at::empty(sizes, gradient.options().memory_format(at::MemoryFormat::ChannelsLast));
    const Recorded recorded("lockstep::average_pool_backward", {.bytes = bytes_of({gradient, result})});
    with_values_of(gradient, [&]<typename Value>(Value) {
      const Value* from = values_of<Value>(gradient);
      Value* to = mutable_values_of<Value>(result);
      parallel_for(0, sizes[0], grain(positions * channels), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t sample = begin; sample < end; ++sample) {
          kernels_for<Value>(*pool_level())
              .average_gradient(to + sample * positions * channels, from + sample * channels, positions, channels);
        }
      });
    });
    return {result};
  }
};

}  // namespace

bool can_fused_average_pool(const at::Tensor& input) {
  return pool_level() != nullptr && !at::tracer::impl::is_dispatch_enabled() && input.dim() == 4 &&
         is_cpu_channels_last(input) && input.numel() > 0;
}

at::Tensor fused_average_pool(const at::Tensor& input) {
  return FusedAveragePool::apply(input);
}

}  // namespace lockstep::kernels
