#include <limits>

#include <ATen/TracerMode.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <torch/csrc/autograd/custom_function.h>

#include "../cpu/single_derivative.h"
#include "pool.h"
#include "tensors.h"

namespace lockstep::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class CudaAveragePool : public torch::autograd::Function<CudaAveragePool> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input) {
    at::Tensor output = at::empty({input.size(0), input.size(1), 1, 1}, input.options());
    cuda::kernels_on(input.device())
        ->average_pool(cuda::rows_of(output), input.size(2) * input.size(3), output.mutable_data_ptr(),
                       input.const_data_ptr());
    context->saved_data["sizes"] = input.sizes().vec();
    return output;
  }

  static variable_list backward(AutogradContext* context, variable_list& gradients) {
    require_single_derivative("pooling");
    const std::vector<std::int64_t> sizes = context->saved_data["sizes"].toIntVector();
    const at::Tensor like = gradients[0], gradient = cuda::take_gradient(gradients[0], like);
    at::Tensor result = at::empty(sizes, gradient.options().memory_format(at::MemoryFormat::ChannelsLast));
    cuda::kernels_on(gradient.device())
        ->average_pool_gradient(cuda::rows_of(gradient), sizes[2] * sizes[3], result.mutable_data_ptr(),
                                gradient.const_data_ptr());
    return {result};
  }
};

}  // namespace

bool can_cuda_average_pool(const at::Tensor& input) {
  return cuda::kernels_on(input.device()) != nullptr && !at::tracer::impl::is_dispatch_enabled() && input.dim() == 4 &&
         cuda::is_taken(input) && input.numel() <= std::numeric_limits<int>::max();
}

at::Tensor cuda_average_pool(const at::Tensor& input) {
  const c10::DeviceGuard guard(input.device());
  return CudaAveragePool::apply(input);
}

}  // namespace lockstep::kernels
