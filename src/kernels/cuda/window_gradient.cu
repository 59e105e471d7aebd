// The gradients of the weights of convolutions with a window of 3 x 3 places.
#include "weight_sums.cuh"
#include "window_results.cuh"

namespace lockstep::kernels::cuda {
namespace {

// A group of threads has a row of the window.
struct Window {
  static constexpr int kTileRows = kGradientTileRows, kTileColumns = kGradientTileColumns, kMargin = 1;
  static constexpr int kInputRows = kTileRows + 2 * kMargin, kInputColumns = kTileColumns + 2 * kMargin;
  static constexpr int kInputs = kWindowChannels, kPlaceBytes = 2 * kInputs;
  static constexpr int kStages = 5, kGroups = kSumWindow, kOutputs = WindowResults::kColumns, kMoreRegisters = 152;
  static_assert(kTileColumns == 16);  // of one product

  // The inputs of the row's second place begin one place after those of its first one, so that one product, three times
  // as wide, has all three.
  __device__ static void multiply(float (&sums)[kOutputs / 2], const uint4* gradient, const uint4* input, int group) {
    constexpr int kPlaceChunks = kPlaceBytes / kVectorBytes;
    const std::uint64_t outputs = matrix_at(gradient);
    const std::uint64_t inputs =
        matrix_at(input, kPlaceBytes) + static_cast<unsigned>(group * kInputColumns * kPlaceChunks);
#pragma unroll
    for (int row = 0; row < kTileRows; ++row) {
      add_product<kOutputs, true, true>(sums, outputs + row * kTileColumns * kPlaceChunks,
                                        inputs + row * kInputColumns * kPlaceChunks);
    }
  }
};

SumsSizes sizes_of(const WindowGradient& work) {
  const PictureSizes both{work.samples, work.height, work.width, work.channels};
  return {both, both};
}

}  // namespace

std::int64_t window_partials(const WindowGradient& work, const Device& device) {
  return partials_of<Window>(sizes_of(work), device);
}

cudaError_t launch_window_gradient(const WindowGradient& work, const Launch& launch) {
  const SumsSizes sizes = sizes_of(work);
  const cudaError_t status = sum_up<Window>(work.x, work.gradient, sizes, launch);
  if (status != cudaSuccess) return status;
  return add_up<WindowResults>({.partials = launch.partials,
                                .pairs = pairs_of<Window>(sizes) * Window::kGroups,
                                .splits = splits_of<Window>(sizes, launch.device),
                                .size = work.channels,
                                .sums = static_cast<__nv_bfloat16*>(work.weight_gradient)},
                               launch);
}

}  // namespace lockstep::kernels::cuda
