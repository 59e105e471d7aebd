// The functions that start kernels. They return what CUDA says of the start.
#pragma once
#include <cuda_runtime_api.h>

#include "kernels.h"
#include "plan.h"

namespace lockstep::kernels::cuda {

// Where blocks tell each other what they found: this, and told_bytes() behind it. All of it is 0 before the first run,
// and then left alone. Kernels of one stream, which run one after another, can share one.
struct alignas(16) ExchangePlace {
  unsigned last_run;  // its number
  unsigned left;      // blocks of this run that need that number no more
};

// Where and with what kernels of several blocks run.
struct Launch {
  Device device;
  cudaStream_t stream = nullptr;
  float* partials = nullptr;       // partial_floats() of them; nobody else's until the kernel ends
  ExchangePlace* place = nullptr;  // the stream's own
};

// What a kernel whose blocks share a batch is told beside its work.
struct Together {
  Division batch;
  int kept;              // as in Plan
  ExchangePlace* place;  // where a chunk has several splits
};

cudaError_t launch_forward(const BatchNormForward& work, const Launch& launch);
cudaError_t launch_backward(const BatchNormBackward& work, const Launch& launch);
cudaError_t launch_apply(const BatchNormApply& work, cudaStream_t stream);

cudaError_t launch_max_pool(const MaxPoolForward& work, cudaStream_t stream);
cudaError_t launch_max_pool_gradient(const MaxPoolBackward& work, cudaStream_t stream);
constexpr int kBiasBlocks = 2;  // of a multiprocessor
// These need no such place; launch_bias_act() needs no partials either.
cudaError_t launch_bias_act(const BiasAct& work, const Launch& launch);
cudaError_t launch_bias_gradient(const BiasGradient& work, const Launch& launch);
cudaError_t launch_average_pool(const Rows& means, std::int64_t positions, void* y, const void* x, cudaStream_t stream);
cudaError_t launch_average_pool_gradient(const Rows& means, std::int64_t positions, void* x_gradient,
                                         const void* gradient, cudaStream_t stream);

// Neither a place nor partials.
cudaError_t launch_rows_product(const RowsProduct& work, const Launch& launch);
int window_parts(const WindowConvolution& work, const Device& device);
cudaError_t launch_window_convolution(const WindowConvolution& work, const Launch& launch);
int stacked_parts(const WindowConvolution& work, const Device& device);
bool stacked_keeps_busy(const WindowConvolution& work, const Device& device);
cudaError_t launch_stacked_convolution(const WindowConvolution& work, const Launch& launch);
cudaError_t launch_window_passed(const WindowPassed& work, const Launch& launch);
int column_parts(const ColumnConvolution& work, const Device& device);
cudaError_t launch_column_convolution(const ColumnConvolution& work, const Launch& launch);
// With so many partials.
std::int64_t window_partials(const WindowGradient& work, const Device& device);
cudaError_t launch_window_gradient(const WindowGradient& work, const Launch& launch);
std::int64_t stacked_partials(const WindowGradient& work, const Device& device);
cudaError_t launch_stacked_gradient(const WindowGradient& work, const Launch& launch);
std::int64_t column_partials(const ColumnGradient& work, const Device& device);
cudaError_t launch_column_gradient(const ColumnGradient& work, const Launch& launch);
cudaError_t launch_product_norm(const ProductNormForward& work, const Launch& launch);
cudaError_t launch_product_norm_gradient(const ProductNormBackward& work, const Launch& launch);
cudaError_t launch_copy_few(const FewCopy& work, cudaStream_t stream);

cudaError_t launch_cast(Number to, Number from, const CastPart* parts, int count, cudaStream_t stream);

cudaError_t launch_gather_blocks(const BlockShape& shape, void* blocks, const void* x, Number x_type,
                                 const Strides& x_strides, cudaStream_t stream);
cudaError_t launch_gather_weights(const BlockShape& shape, void* blocks, const void* weight, Number weight_type,
                                  const Strides& strides, cudaStream_t stream);
cudaError_t launch_weights_gradient(const BlockShape& shape, void* gradient, Number gradient_type,
                                    const Strides& strides, const void* blocks_gradient, cudaStream_t stream);

}  // namespace lockstep::kernels::cuda
