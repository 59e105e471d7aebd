// The kernels as the plugin `cuda` offers them: with streams and memory of libtorch.
#include <map>
#include <mutex>
#include <utility>

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <c10/cuda/CUDAStream.h>

#include "launch.h"

namespace lockstep::kernels::cuda {
namespace {

cudaStream_t current_stream() {
  return c10::cuda::getCurrentCUDAStream().stream();
}

int attribute(cudaDeviceAttr name) {
  int value = 0;
  C10_CUDA_CHECK(cudaDeviceGetAttribute(&value, name, c10::cuda::current_device()));
  return value;
}

// Floats that are given back when the host has started what uses them: libtorch gives them to nothing that could run
// earlier.
class Scratch {
 public:
  explicit Scratch(std::int64_t floats)
      : memory_(c10::cuda::CUDACachingAllocator::raw_alloc(static_cast<std::size_t>(floats) * sizeof(float))) {}
  ~Scratch() { c10::cuda::CUDACachingAllocator::raw_delete(memory_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  float* floats() const { return static_cast<float*>(memory_); }

 private:
  void* memory_;
};

// A place for each stream where blocks tell each other what they found: made at its first use, and there as long as the
// process.
class ExchangePlaces {
 public:
  ExchangePlace* of(cudaStream_t stream, const Device& device) {
    const std::lock_guard lock(mutex_);
    ExchangePlace*& place = places_[{c10::cuda::current_device(), stream}];
    if (place == nullptr) place = make(sizeof(ExchangePlace) + static_cast<std::size_t>(told_bytes(device)));
    return place;
  }

 private:
  // Also while a graph is recorded, of which this is no part.
  static ExchangePlace* make(std::size_t bytes) {
    const c10::cuda::CUDAStreamCaptureModeGuard at_any_time(cudaStreamCaptureModeRelaxed);
    void* place = nullptr;
    C10_CUDA_CHECK(cudaMalloc(&place, bytes));
    const cudaError_t status = fill_with_zeros(place, bytes);
    if (status != cudaSuccess) cudaFree(place);
    C10_CUDA_CHECK(status);
    return static_cast<ExchangePlace*>(place);
  }
  static cudaError_t fill_with_zeros(void* place, std::size_t bytes) {
    cudaStream_t stream = nullptr;
    cudaError_t status = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (status != cudaSuccess) return status;
    status = cudaMemsetAsync(place, 0, bytes, stream);
    if (status == cudaSuccess) status = cudaStreamSynchronize(stream);
    const cudaError_t ended = cudaStreamDestroy(stream);
    return status == cudaSuccess ? ended : status;
  }

  std::mutex mutex_;
  std::map<std::pair<c10::DeviceIndex, cudaStream_t>, ExchangePlace*> places_;
};

template <typename Work>
bool is_stacked(const Work& work) {
  return are_stacked(work.height, work.width, work.channels);
}

class PluginKernels : public Kernels {
 public:
  bool run_here() const override {
    constexpr int kSharedBytes = 160 << 10;  // the rings of a forward pass with a shortcut need most of it
    const Device& device = this->device();
    return device.multiprocessors > 0 && device.shared_bytes >= kSharedBytes;
  }

  bool have_products() const override { return device().products; }

  std::int64_t positive_bytes(const Rows& shape) const override {
    const Division batch = division_of(shape);
    return static_cast<std::int64_t>(batch.chunks) * batch.stages * kThreads;
  }

  int sum_parts(const Rows& shape) const override { return splits_for(shape, device()); }

  void batch_norm_forward(const BatchNormForward& work) const override {
    C10_CUDA_CHECK(launch_forward(work, launch_with_place()));
  }
  void batch_norm_backward(const BatchNormBackward& work) const override {
    C10_CUDA_CHECK(launch_backward(work, launch_with_place()));
  }
  void batch_norm_apply(const BatchNormApply& work) const override {
    C10_CUDA_CHECK(launch_apply(work, current_stream()));
  }

  void max_pool(const MaxPoolForward& work) const override { C10_CUDA_CHECK(launch_max_pool(work, current_stream())); }
  void max_pool_gradient(const MaxPoolBackward& work) const override {
    if (work.x_gradient != nullptr) C10_CUDA_CHECK(launch_max_pool_gradient(work, current_stream()));
    if (work.bias_gradient == nullptr) return;
    const PoolShape& shape = work.shape;
    const std::int64_t rows = static_cast<std::int64_t>(shape.samples) * shape.out[0] * shape.out[1] * shape.out[2];
    bias_gradient({.shape = {shape.type, rows, shape.channels},
                   .gradient = work.gradient,
                   .places = work.places,
                   .act = work.act,
                   .bias_gradient = work.bias_gradient});
  }
  void bias_act(const BiasAct& work) const override {
    C10_CUDA_CHECK(launch_bias_act(work, {.device = device(), .stream = current_stream()}));
  }
  void bias_gradient(const BiasGradient& work) const override {
    const Scratch scratch(partial_floats(work.shape, device(), kBiasBlocks));
    C10_CUDA_CHECK(
        launch_bias_gradient(work, {.device = device(), .stream = current_stream(), .partials = scratch.floats()}));
  }
  void average_pool(const Rows& means, std::int64_t positions, void* y, const void* x) const override {
    C10_CUDA_CHECK(launch_average_pool(means, positions, y, x, current_stream()));
  }
  void average_pool_gradient(const Rows& means, std::int64_t positions, void* x_gradient,
                             const void* gradient) const override {
    C10_CUDA_CHECK(launch_average_pool_gradient(means, positions, x_gradient, gradient, current_stream()));
  }

  void rows_product(const RowsProduct& work) const override {
    C10_CUDA_CHECK(launch_rows_product(work, {.device = device(), .stream = current_stream()}));
  }
  int window_parts(const WindowConvolution& work) const override {
    return is_stacked(work) ? stacked_parts(work, device()) : cuda::window_parts(work, device());
  }
  bool window_keeps_busy(const WindowConvolution& work) const override {
    return !is_stacked(work) || stacked_keeps_busy(work, device());
  }
  void window_convolution(const WindowConvolution& work) const override {
    const Launch launch{.device = device(), .stream = current_stream()};
    C10_CUDA_CHECK(is_stacked(work) ? launch_stacked_convolution(work, launch)
                                    : launch_window_convolution(work, launch));
  }
  void window_passed(const WindowPassed& work) const override {
    C10_CUDA_CHECK(launch_window_passed(work, {.device = device(), .stream = current_stream()}));
  }
  void window_gradient(const WindowGradient& work) const override {
    const bool stacked = is_stacked(work);
    const Scratch scratch(stacked ? stacked_partials(work, device()) : window_partials(work, device()));
    const Launch launch{.device = device(), .stream = current_stream(), .partials = scratch.floats()};
    C10_CUDA_CHECK(stacked ? launch_stacked_gradient(work, launch) : launch_window_gradient(work, launch));
  }
  int column_parts(const ColumnConvolution& work) const override { return cuda::column_parts(work, device()); }
  void column_convolution(const ColumnConvolution& work) const override {
    C10_CUDA_CHECK(launch_column_convolution(work, {.device = device(), .stream = current_stream()}));
  }
  void column_gradient(const ColumnGradient& work) const override {
    const Scratch scratch(column_partials(work, device()));
    C10_CUDA_CHECK(
        launch_column_gradient(work, {.device = device(), .stream = current_stream(), .partials = scratch.floats()}));
  }
  void product_norm(const ProductNormForward& work) const override {
    C10_CUDA_CHECK(launch_product_norm(work, {.device = device(), .stream = current_stream()}));
  }
  void product_norm_gradient(const ProductNormBackward& work) const override {
    C10_CUDA_CHECK(launch_product_norm_gradient(work, {.device = device(), .stream = current_stream()}));
  }
  void copy_few(const FewCopy& work) const override { C10_CUDA_CHECK(launch_copy_few(work, current_stream())); }

  void cast(Number to, Number from, const CastPart* parts, int count) const override {
    C10_CUDA_CHECK(launch_cast(to, from, parts, count, current_stream()));
  }

  void gather_blocks(const BlockShape& shape, void* blocks, const void* x, Number x_type,
                     const Strides& x_strides) const override {
    C10_CUDA_CHECK(launch_gather_blocks(shape, blocks, x, x_type, x_strides, current_stream()));
  }
  void gather_weights(const BlockShape& shape, void* blocks, const void* weight, Number weight_type,
                      const Strides& strides) const override {
    C10_CUDA_CHECK(launch_gather_weights(shape, blocks, weight, weight_type, strides, current_stream()));
  }
  void weights_gradient(const BlockShape& shape, void* gradient, Number gradient_type, const Strides& strides,
                        const void* blocks_gradient) const override {
    C10_CUDA_CHECK(launch_weights_gradient(shape, gradient, gradient_type, strides, blocks_gradient, current_stream()));
  }

 private:
  // Asked once for each device.
  const Device& device() const {
    const std::lock_guard lock(mutex_);
    auto [found, is_new] = devices_.try_emplace(c10::cuda::current_device());
    if (is_new) {
      const int capability = attribute(cudaDevAttrComputeCapabilityMajor);
      const bool cooperates = capability >= 8 && attribute(cudaDevAttrCooperativeLaunch) != 0;
      found->second = {.multiprocessors = cooperates ? attribute(cudaDevAttrMultiProcessorCount) : 0,
                       .shared_bytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin),
                       .early_starts = capability >= 9,
                       .products = capability == 9 && attribute(cudaDevAttrComputeCapabilityMinor) == 0};
    }
    return found->second;
  }

  Launch launch_with_place() const {
    const cudaStream_t stream = current_stream();
    return {.device = device(), .stream = stream, .place = places_.of(stream, device())};
  }

  mutable std::mutex mutex_;
  mutable std::map<c10::DeviceIndex, Device> devices_;
  mutable ExchangePlaces places_;
};

}  // namespace
}  // namespace lockstep::kernels::cuda

extern "C" __attribute__((visibility("default"))) const lockstep::kernels::cuda::Kernels* lockstep_cuda_kernels() {
  static const lockstep::kernels::cuda::PluginKernels kernels;
  return &kernels;
}
