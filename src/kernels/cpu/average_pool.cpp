#include <ATen/TracerMode.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

#include "../parallel.h"
#include "../recorded.h"
#include "channels_last.h"
#include "pool.h"
#include "pool_kernels.h"
#include "single_derivative.h"

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
    at::Tensor output = at::empty({input.size(0), channels, 1, 1}, at::kFloat);
    const Recorded recorded("lockstep::average_pool", {.bytes = bytes_of({input, output})});
    parallel_for(0, input.size(0), grain(positions * channels), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t sample = begin; sample < end; ++sample) {
        pool_kernels()->average(output.mutable_data_ptr<float>() + sample * channels,
                                input.const_data_ptr<float>() + sample * positions * channels, positions, channels);
      }
    });
    context->saved_data["sizes"] = input.sizes().vec();
    return output;
  }

  static variable_list backward(AutogradContext* context, variable_list& gradients) {
    require_single_derivative("pooling");
    const std::vector<std::int64_t> sizes = context->saved_data["sizes"].toIntVector();
    const std::int64_t channels = sizes[1], positions = sizes[2] * sizes[3];
    const at::Tensor gradient = gradients[0].contiguous();
    at::Tensor result = at::empty(sizes, at::TensorOptions(at::kFloat).memory_format(at::MemoryFormat::ChannelsLast));
    const Recorded recorded("lockstep::average_pool_backward", {.bytes = bytes_of({gradient, result})});
    parallel_for(0, sizes[0], grain(positions * channels), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t sample = begin; sample < end; ++sample) {
        pool_kernels()->average_gradient(result.mutable_data_ptr<float>() + sample * positions * channels,
                                         gradient.const_data_ptr<float>() + sample * channels, positions, channels);
      }
    });
    return {result};
  }
};

}  // namespace

bool can_fused_average_pool(const at::Tensor& input) {
  return pool_kernels() != nullptr && !at::tracer::impl::is_dispatch_enabled() && input.dim() == 4 &&
         is_channels_last_float(input) && input.numel() > 0;
}

at::Tensor fused_average_pool(const at::Tensor& input) {
  return FusedAveragePool::apply(input);
}

}  // namespace lockstep::kernels
