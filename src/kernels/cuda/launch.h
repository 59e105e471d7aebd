// The functions that start kernels. They return what CUDA says of the start.
#pragma once
#include <cuda_runtime_api.h>

#include "kernels.h"
#include "plan.h"

namespace lockstep::kernels::cuda {

// Where and with what kernels of several blocks run.
struct Launch {
  Device device;
  cudaStream_t stream = nullptr;
  float* partials = nullptr;     // partial_floats() of them; nobody else's until the kernel ends
  unsigned* counters = nullptr;  // kMostChunks of them, likewise; 0 before their first use, and then left alone
};

// What a kernel whose blocks meet is told beside its work.
struct Together {
  Division batch;
  Meeting meeting;
  int kept;  // as in Plan
  float* partials;
  unsigned* counters;
};

constexpr int kForwardPartials = 3, kBackwardPartials = 2, kBiasPartials = 2;

cudaError_t launch_forward(const BatchNormForward& work, const Launch& launch);
cudaError_t launch_backward(const BatchNormBackward& work, const Launch& launch);
cudaError_t launch_apply(const BatchNormApply& work, cudaStream_t stream);

cudaError_t launch_max_pool(const MaxPoolForward& work, cudaStream_t stream);
cudaError_t launch_max_pool_gradient(const MaxPoolBackward& work, cudaStream_t stream);
// These need no counters; launch_bias_act() needs no partials either.
cudaError_t launch_bias_act(const BiasAct& work, const Launch& launch);
cudaError_t launch_bias_gradient(const BiasGradient& work, const Launch& launch);
cudaError_t launch_average_pool(const Rows& means, std::int64_t positions, void* y, const void* x, cudaStream_t stream);
cudaError_t launch_average_pool_gradient(const Rows& means, std::int64_t positions, void* x_gradient,
                                         const void* gradient, cudaStream_t stream);

// Neither counters nor partials.
cudaError_t launch_rows_product(const RowsProduct& work, const Launch& launch);
cudaError_t launch_product_norm(const ProductNormForward& work, cudaStream_t stream);
cudaError_t launch_product_norm_gradient(const ProductNormBackward& work, cudaStream_t stream);
cudaError_t launch_copy_few(const FewCopy& work, cudaStream_t stream);

cudaError_t launch_cast(Number to, Number from, const CastPart* parts, int count, cudaStream_t stream);

cudaError_t launch_gather_blocks(const BlockShape& shape, void* blocks, const void* x, Number x_type,
                                 const Strides& x_strides, cudaStream_t stream);
cudaError_t launch_gather_weights(const BlockShape& shape, void* blocks, const void* weight, Number weight_type,
                                  const Strides& strides, cudaStream_t stream);
cudaError_t launch_weights_gradient(const BlockShape& shape, void* gradient, Number gradient_type,
                                    const Strides& strides, const void* blocks_gradient, cudaStream_t stream);

// Counters of the current device, zeroed when the program begins. At most kStreams sets.
constexpr int kStreams = 256;
cudaError_t counters_of_stream(unsigned** counters, int stream_number);

}  // namespace lockstep::kernels::cuda
