// What normalizing a product of rows and weights needs besides such products: work on matrices of weights, which are
// small. All sums are taken in a fixed order.
#include <cuda_bf16.h>

#include "launch.cuh"

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
    load_parameters();
    load();
    find_covariances();
    find_statistics();
    fold();
  }

 private:
  // Of one input, for all outputs of the block: read as a few large words.
  struct alignas(16) Weights {
    float of[kOutputs];
  };
  struct Shared {
    Weights weights[kMostNormInputs];
    float means[kMostNormInputs];
    float sums[kBlockThreads][kOutputs + 1];  // one more for the banks
    float of_warps[2][kOutputs][kBlockWarps];
    float scale[kOutputs], offset[kOutputs];
  };

  __device__ static Shared& shared() {
    extern __shared__ float4 memory[];
    return *reinterpret_cast<Shared*>(memory);
  }

  // Of the output that a warp has in the end: asked for early, so that nobody waits for it later.
  __device__ void load_parameters() {
    const int c = thread_ / 32, output = output_ + c;
    if (c >= count_) return;
    parameters_.weight = work_.weight[output];
    parameters_.bias = work_.bias[output];
    if (work_.running_mean == nullptr) return;
    parameters_.running_mean = work_.running_mean[output];
    parameters_.running_var = work_.running_var[output];
  }

  __device__ void load() const {
    Shared& to = shared();
    const Weight* const from =
        static_cast<const Weight*>(all_.weight) + static_cast<std::int64_t>(output_) * all_.inputs;
    for (int i = thread_; i < kOutputs * all_.inputs; i += kBlockThreads) {
      to.weights[i % all_.inputs].of[i / all_.inputs] = i < count_ * all_.inputs ? __bfloat162float(from[i]) : 0;
    }
    float sum = 0;
    const int groups = kBlockThreads / all_.inputs, group = thread_ / all_.inputs;
#pragma unroll 8
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
        const Weights weights = to.weights[first + k];
#pragma unroll
        for (int c = 0; c < kOutputs; ++c) sums[c] = fmaf(weights.of[c], covariance, sums[c]);
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
    const Weights weights = to.weights[input_];
#pragma unroll
    for (int c = 0; c < kOutputs; ++c) {
      const float weight = has_input ? weights.of[c] : 0;
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
    const double scale = static_cast<double>(parameters_.weight) * inverse;
    shared().scale[c] = static_cast<float>(scale);
    all_.mean[output] = static_cast<float>(mean);
    all_.scale[output] = static_cast<float>(scale);
    all_.inverse[output] = static_cast<float>(inverse);
    if (output == 0 && work_.batches != nullptr) ++*work_.batches;
    if (work_.running_mean == nullptr) return;
    const double rows = static_cast<double>(all_.rows), rest = 1 - work_.momentum;
    work_.running_mean[output] =
        static_cast<float>(work_.momentum * mean + rest * static_cast<double>(parameters_.running_mean));
    work_.running_var[output] = static_cast<float>(work_.momentum * (variance * rows / (rows - 1)) +
                                                   rest * static_cast<double>(parameters_.running_var));
  }

  // The offset is for the weights as they are rounded, so that rounding moves no mean.
  __device__ void fold() const {
    Shared& to = shared();
    Weight* const folded = static_cast<Weight*>(work_.folded) + static_cast<std::int64_t>(output_) * all_.inputs;
    const bool has_input = thread_ < all_.inputs;
    const Weights weights = to.weights[input_];
#pragma unroll
    for (int c = 0; c < kOutputs; ++c) {
      const Weight rounded = __float2bfloat16_rn(has_input ? weights.of[c] * to.scale[c] : 0);
      if (has_input && c < count_) folded[c * all_.inputs + input_] = rounded;
      const float mean = sum_of_warp(has_input ? __bfloat162float(rounded) * to.means[input_] : 0);
      if (thread_ % 32 == 0) to.of_warps[0][c][thread_ / 32] = mean;
    }
    __syncthreads();
    const int c = thread_ / 32, lane = thread_ % 32;
    if (c >= count_) return;
    const float mean = sum_of_warp(to.of_warps[0][c][lane]);
    if (lane == 0) work_.offset[output_ + c] = parameters_.bias - mean;
  }

 public:
  static constexpr int kSharedBytes = static_cast<int>(sizeof(Shared));

 private:
  struct Parameters {
    float weight = 0, bias = 0, running_mean = 0, running_var = 0;
  };

  const ProductNormForward& work_;
  const ProductNorm& all_;
  Parameters parameters_;
  const int thread_, output_, count_, input_, part_, parts_;
};

__global__ void __launch_bounds__(kBlockThreads) forward_kernel(const __grid_constant__ ProductNormForward work) {
  wait_for_earlier_work();
  ForwardBlock(work).run();
}

// A warp has one output, and a lane kCount inputs of it, all of which it loads at once.
constexpr int kGradientThreads = 128;
template <int kCount>
__global__ void __launch_bounds__(kGradientThreads) backward_kernel(const __grid_constant__ ProductNormBackward work) {
  wait_for_earlier_work();
  const ProductNorm& all = work.shared;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int output = static_cast<int>(blockIdx.x * (kGradientThreads / 32) + threadIdx.x / 32);
  if (output >= all.outputs) return;
  const float rows = static_cast<float>(all.rows);
  const std::int64_t row = static_cast<std::int64_t>(output) * all.inputs;
  const Weight* const weights_row = static_cast<const Weight*>(all.weight) + row;
  float weights[kCount], products[kCount], means[kCount], covariances[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const int input = lane + 32 * i;
    const bool there = input < all.inputs;
    weights[i] = there ? __bfloat162float(weights_row[input]) : 0;
    products[i] = there ? work.products[row + input] : 0;
    means[i] = there ? all.sums[input] : 0;
    covariances[i] = there ? all.covariances[row + input] : 0;
  }
  float sum = 0;
#pragma unroll 8
  for (int part = lane; part < work.parts; part += 32) {
    sum += work.gradient_sums[static_cast<std::int64_t>(output) * work.parts + part];
  }
  sum = sum_of_warp(sum);

  // Of g with each x, as a sum over the rows; and so with y, whose weights are known.
  float of_output = 0;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    products[i] -= sum * (means[i] / rows);
    of_output = fmaf(weights[i], products[i], of_output);
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
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const int input = lane + 32 * i;
    if (input >= all.inputs) break;
    scaled[input] = __float2bfloat16_rn(scale * weights[i]);
    gradients[input] = __float2bfloat16_rn(scale * (products[i] - slope * covariances[i]));
    corrections[input] = __float2bfloat16_rn(-correction * weights[i]);
  }
  if (lane < kCorrectionColumns) {
    const float rest = correction * all.mean[output] - scale * sum / rows;
    corrections[all.inputs + lane] = __float2bfloat16_rn(lane == 0 ? rest : 0);
  }
}

}  // namespace

cudaError_t launch_product_norm(const ProductNormForward& work, const Launch& launch) {
  const int blocks = (work.shared.outputs + kOutputs - 1) / kOutputs;
  return start(forward_kernel, {blocks, kBlockThreads, ForwardBlock::kSharedBytes}, launch, work);
}

cudaError_t launch_product_norm_gradient(const ProductNormBackward& work, const Launch& launch) {
  constexpr int kWarps = kGradientThreads / 32;
  const int blocks = (work.shared.outputs + kWarps - 1) / kWarps;
  const Grid grid{blocks, kGradientThreads};
  static_assert(kMostNormInputs <= 16 * 32);
  return work.shared.inputs <= 2 * 32   ? start(backward_kernel<2>, grid, launch, work)
         : work.shared.inputs <= 4 * 32 ? start(backward_kernel<4>, grid, launch, work)
         : work.shared.inputs <= 8 * 32 ? start(backward_kernel<8>, grid, launch, work)
                                        : start(backward_kernel<16>, grid, launch, work);
}

}  // namespace lockstep::kernels::cuda
