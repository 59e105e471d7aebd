// What normalizing a product of rows and weights needs besides such products: work on matrices of weights, which are
// small. All sums are taken in a fixed order.
#include <cuda_bf16.h>

#include "launch.h"

namespace lockstep::kernels::cuda {
namespace {

using Weight = __nv_bfloat16;

constexpr int kBlockThreads = 1024, kBlockWarps = kBlockThreads / 32;
constexpr int kOutputs = 8;   // of a block
constexpr int kTogether = 8;  // inputs whose loads are on their way at a time
static_assert(kProductMultiple % kTogether == 0 && kBlockThreads % kMostNormInputs == 0);

__device__ inline float sum_of_warp(float value) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffU, value, distance);
  return value;
}

// A block has kOutputs outputs. A thread has one input, as the second one of covariances, and a part of the inputs that
// are the first one.
class ForwardBlock {
 public:
  __device__ explicit ForwardBlock(const ProductNormForward& work)
      : work_(work),
        all_(work.shared),
        thread_(static_cast<int>(threadIdx.x)),
        output_(static_cast<int>(blockIdx.x) * kOutputs),
        count_(min(kOutputs, all_.outputs - output_)),
        input_(thread_ % all_.inputs),
        part_(thread_ / all_.inputs),
        parts_(min(kBlockThreads / all_.inputs, all_.inputs / kTogether)) {}

  __device__ void run() {
    load();
    find_covariances();
    find_statistics();
    fold();
  }

 private:
  struct Shared {
    float weights[kOutputs][kMostNormInputs];
    float means[kMostNormInputs];
    float sums[kBlockThreads][kOutputs + 1];  // one more for the banks
    float of_warps[2][kOutputs][kBlockWarps];
    float scale[kOutputs], offset[kOutputs];
  };

  __device__ static Shared& shared() {
    extern __shared__ float4 memory[];
    return *reinterpret_cast<Shared*>(memory);
  }

  __device__ void load() const {
    Shared& to = shared();
    float sum = 0;
    const int groups = kBlockThreads / all_.inputs, group = thread_ / all_.inputs;
    for (int part = group; group < groups && part < work_.parts; part += groups) {
      sum += work_.sum_parts[static_cast<std::int64_t>(part) * all_.inputs + input_];
    }
    to.sums[thread_][0] = sum;
    __syncthreads();
    if (thread_ < all_.inputs) {
      for (int other = 1; other < groups; ++other) sum += to.sums[other * all_.inputs + input_][0];
      to.means[thread_] = sum / static_cast<float>(all_.rows);
      if (output_ == 0) all_.sums[thread_] = sum;
    }
    const Weight* const from =
        static_cast<const Weight*>(all_.weight) + static_cast<std::int64_t>(output_) * all_.inputs;
    for (int i = thread_; i < kOutputs * all_.inputs; i += kBlockThreads) {
      to.weights[i / all_.inputs][i % all_.inputs] = i < count_ * all_.inputs ? __bfloat162float(from[i]) : 0;
    }
    __syncthreads();
  }

  __device__ void find_covariances() {
    Shared& to = shared();
    const float each = 1 / static_cast<float>(all_.rows), mean = to.means[input_];
    const int length = all_.inputs / parts_ / kTogether * kTogether;  // of a part; the last one has the rest
    const int begin = part_ * length, end = part_ + 1 < parts_ ? begin + length : all_.inputs;
    float sums[kOutputs] = {};
    for (int first = part_ < parts_ ? begin : end; first < end; first += kTogether) {
      float products[kTogether];
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        products[k] = work_.products[static_cast<std::int64_t>(first + k) * all_.inputs + input_];
      }
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        const float covariance = fmaf(products[k], each, -mean * to.means[first + k]);
#pragma unroll
        for (int c = 0; c < kOutputs; ++c) sums[c] = fmaf(to.weights[c][first + k], covariance, sums[c]);
      }
    }
#pragma unroll
    for (int c = 0; c < kOutputs; ++c) to.sums[thread_][c] = sums[c];
    __syncthreads();
    if (thread_ >= all_.inputs) return;
#pragma unroll
    for (int c = 0; c < kOutputs; ++c) {
      float covariance = 0;
      for (int part = 0; part < parts_; ++part) covariance += to.sums[part * all_.inputs + input_][c];
      to.sums[thread_][c] = covariance;
      if (c < count_) all_.covariances[static_cast<std::int64_t>(output_ + c) * all_.inputs + input_] = covariance;
    }
  }

  // The mean of each output and its variance, from those of inputs.
  __device__ void find_statistics() const {
    Shared& to = shared();
    const bool has_input = thread_ < all_.inputs;
#pragma unroll
    for (int c = 0; c < kOutputs; ++c) {
      const float weight = has_input ? to.weights[c][input_] : 0;
      const float mean = sum_of_warp(has_input ? weight * to.means[input_] : 0);
      const float variance = sum_of_warp(has_input ? weight * to.sums[thread_][c] : 0);
      if (thread_ % 32 == 0) to.of_warps[0][c][thread_ / 32] = mean, to.of_warps[1][c][thread_ / 32] = variance;
    }
    __syncthreads();
    const int c = thread_ / 32, lane = thread_ % 32;
    if (c < count_) {
      static_assert(kBlockWarps == 32);
      const float mean = sum_of_warp(to.of_warps[0][c][lane]), variance = sum_of_warp(to.of_warps[1][c][lane]);
      if (lane == 0)
        keep(c, static_cast<double>(mean), variance > 0 || variance != variance ? static_cast<double>(variance) : 0);
    }
    __syncthreads();
  }

  __device__ void keep(int c, double mean, double variance) const {
    const int output = output_ + c;
    const double inverse = 1 / sqrt(variance + work_.eps);
    const double scale = static_cast<double>(work_.weight[output]) * inverse;
    shared().scale[c] = static_cast<float>(scale);
    all_.mean[output] = static_cast<float>(mean);
    all_.scale[output] = static_cast<float>(scale);
    all_.inverse[output] = static_cast<float>(inverse);
    if (output == 0 && work_.batches != nullptr) ++*work_.batches;
    if (work_.running_mean == nullptr) return;
    const double rows = static_cast<double>(all_.rows), rest = 1 - work_.momentum;
    float &running_mean = work_.running_mean[output], &running_var = work_.running_var[output];
    running_mean = static_cast<float>(work_.momentum * mean + rest * static_cast<double>(running_mean));
    running_var =
        static_cast<float>(work_.momentum * (variance * rows / (rows - 1)) + rest * static_cast<double>(running_var));
  }

  // The offset is for the weights as they are rounded, so that rounding moves no mean.
  __device__ void fold() const {
    Shared& to = shared();
    Weight* const folded = static_cast<Weight*>(work_.folded) + static_cast<std::int64_t>(output_) * all_.inputs;
    const bool has_input = thread_ < all_.inputs;
#pragma unroll
    for (int c = 0; c < kOutputs; ++c) {
      const Weight rounded = __float2bfloat16_rn(has_input ? to.weights[c][input_] * to.scale[c] : 0);
      if (has_input && c < count_) folded[c * all_.inputs + input_] = rounded;
      const float mean = sum_of_warp(has_input ? __bfloat162float(rounded) * to.means[input_] : 0);
      if (thread_ % 32 == 0) to.of_warps[0][c][thread_ / 32] = mean;
    }
    __syncthreads();
    const int c = thread_ / 32, lane = thread_ % 32;
    if (c >= count_) return;
    const float mean = sum_of_warp(to.of_warps[0][c][lane]);
    if (lane == 0) work_.offset[output_ + c] = work_.bias[output_ + c] - mean;
  }

 public:
  static constexpr int kSharedBytes = static_cast<int>(sizeof(Shared));

 private:
  const ProductNormForward& work_;
  const ProductNorm& all_;
  const int thread_, output_, count_, input_, part_, parts_;
};

__global__ void __launch_bounds__(kBlockThreads) forward_kernel(const __grid_constant__ ProductNormForward work) {
  ForwardBlock(work).run();
}

// A warp has one output.
constexpr int kGradientThreads = 128;
__global__ void __launch_bounds__(kGradientThreads) backward_kernel(const __grid_constant__ ProductNormBackward work) {
  const ProductNorm& all = work.shared;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int output = static_cast<int>(blockIdx.x * (kGradientThreads / 32) + threadIdx.x / 32);
  if (output >= all.outputs) return;
  const float rows = static_cast<float>(all.rows);
  float sum = 0;
  for (int part = lane; part < work.parts; part += 32) {
    sum += work.gradient_sums[static_cast<std::int64_t>(output) * work.parts + part];
  }
  sum = sum_of_warp(sum);

  const std::int64_t row = static_cast<std::int64_t>(output) * all.inputs;
  const Weight* const weights = static_cast<const Weight*>(all.weight) + row;
  const float *const products = work.products + row, *const covariances = all.covariances + row;
  // Of g with each x, as a sum over the rows; and so with y, whose weights are known.
  const auto covariance = [&](int input) { return products[input] - sum * (all.sums[input] / rows); };
  float of_output = 0;
  for (int input = lane; input < all.inputs; input += 32) {
    of_output = fmaf(__bfloat162float(weights[input]), covariance(input), of_output);
  }
  of_output = sum_of_warp(of_output);

  const float inverse = all.inverse[output], scale = all.scale[output], slope = of_output * inverse * inverse;
  const float correction = scale * slope / rows;
  if (lane == 0) {
    work.norm_weight_gradient[output] = of_output * inverse;
    work.norm_bias_gradient[output] = sum;
  }
  Weight* const scaled = static_cast<Weight*>(work.scaled) + row;
  Weight* const gradients = static_cast<Weight*>(work.weight_gradient) + row;
  Weight* const corrections = static_cast<Weight*>(work.corrections) + row + output * kCorrectionColumns;
  for (int input = lane; input < all.inputs; input += 32) {
    const float weight = __bfloat162float(weights[input]);
    scaled[input] = __float2bfloat16_rn(scale * weight);
    gradients[input] = __float2bfloat16_rn(scale * (covariance(input) - slope * covariances[input]));
    corrections[input] = __float2bfloat16_rn(-correction * weight);
  }
  if (lane < kCorrectionColumns) {
    const float rest = correction * all.mean[output] - scale * sum / rows;
    corrections[all.inputs + lane] = __float2bfloat16_rn(lane == 0 ? rest : 0);
  }
}

}  // namespace

cudaError_t launch_product_norm(const ProductNormForward& work, cudaStream_t stream) {
  const cudaError_t allowed =
      cudaFuncSetAttribute(forward_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, ForwardBlock::kSharedBytes);
  if (allowed != cudaSuccess) return allowed;
  const int blocks = (work.shared.outputs + kOutputs - 1) / kOutputs;
  forward_kernel<<<static_cast<unsigned>(blocks), kBlockThreads, ForwardBlock::kSharedBytes, stream>>>(work);
  return cudaGetLastError();
}

cudaError_t launch_product_norm_gradient(const ProductNormBackward& work, cudaStream_t stream) {
  constexpr int kWarps = kGradientThreads / 32;
  const int blocks = (work.shared.outputs + kWarps - 1) / kWarps;
  backward_kernel<<<static_cast<unsigned>(blocks), kGradientThreads, 0, stream>>>(work);
  return cudaGetLastError();
}

}  // namespace lockstep::kernels::cuda
