// The gradients of a batch normalization, of the sum with a shortcut and of the ReLU behind it, in one kernel. As
// forward, a block reads its rows twice and keeps what it can in shared memory; where whoever wrote the gradient has
// the sums already, once.
#include "chunk_block.cuh"
#include "launch.cuh"

namespace lockstep::kernels::cuda {
namespace {

constexpr int kDepth = 4;  // stages on their way at a time, of two or three tensors each

enum class Relu { kNone, kFromValues, kFromBits };

struct Arguments {
  BatchNormBackward work;
  Together together;
};

constexpr int kBitsBytes = kDepth * kThreads, kSecondBytes = kDepth * kStageBytes;

// What a channel's factors need besides: asked for early, so that nobody waits for it later.
struct Parameters {
  float residue = 0, inverse = 0, scale = 0;
};

template <typename T, Relu kRelu, bool kKnown>
class Backward : ChunkBlock<T, kDepth> {
  using Block = ChunkBlock<T, kDepth>;
  using Block::batch_, Block::coefficients_, Block::count_, Block::exchange_, Block::kChannels, Block::place_,
      Block::slots_, Block::sums_;

 public:
  __device__ Backward(const Arguments& arguments, uint4* shared)
      : Block(arguments.together, shared),
        work_(arguments.work),
        bits_(Block::rest_),
        seconds_(bits_ + (kRelu == Relu::kFromBits ? kBitsBytes / kVectorBytes : 0)),
        stages_(seconds_ + (arguments.work.second_gradient != nullptr ? kSecondBytes / kVectorBytes : 0)) {
    load_parameters();
    load_own(center_, work_.kept.center);
    load_own(scale_, work_.kept.scale);
    if constexpr (kRelu == Relu::kFromValues) load_own(offset_, work_.kept.offset);
  }

  __device__ void run() {
    if constexpr (kKnown) {
      for (int step = 0; step < kDepth; ++step) copy_again(count_ - 1 - step), end_group();
      find_factors({});
      if (work_.x_gradient != nullptr) write_gradient();
    } else {
      const Pair sums = sum_up();
      for (int step = 0; step < kDepth; ++step) end_group();  // what it left is here
      find_factors(sums);
      if (work_.x_gradient != nullptr) write_gradient();
      this->leave();
    }
  }

 private:
  __device__ void load_parameters() {
    const int channel = this->own_channel();
    if (place_.thread >= kChannels || channel >= batch_.channels) return;
    parameters_ = {work_.kept.residue[channel], work_.kept.inverse[channel], work_.kept.scale[channel]};
  }

  // A stage has the values of x, and behind them those of the gradient.
  __device__ uint4* value_slot(int number) const { return stages_ + slots_(number) * 2 * kThreads; }
  __device__ uint4* gradient_slot(int number) const { return value_slot(number) + kThreads; }
  __device__ uint4* second_slot(int number) const { return seconds_ + (number & (kDepth - 1)) * kThreads; }
  __device__ uint4* bits_slot(int number) const { return bits_ + (number & (kDepth - 1)) * (kThreads / kVectorBytes); }

  __device__ void load_own(float (&to)[kWidth<T>], const float* from) const {
    for (int e = 0; e < kWidth<T>; ++e) to[e] = place_.channel < batch_.channels ? from[place_.channel + e] : 0;
  }

  // Stage `number` of this block's, for the first pass.
  __device__ void copy_all(int number) const {
    if (number >= count_) return;
    const int stage = this->stage(number);
    place_.copy(value_slot(number), work_.x, stage);
    place_.copy(gradient_slot(number), work_.gradient, stage);
    if (work_.second_gradient != nullptr) copy_second(number, stage);
    if constexpr (kRelu == Relu::kFromBits) {
      // The bytes of a warp's threads lie side by side: two of its threads fetch them for all.
      constexpr int kFetchers = 32 / kVectorBytes;
      const int lane = place_.thread % 32, warp = place_.thread / 32;
      if (lane < kFetchers) {
        const std::int64_t from = place_.byte(batch_, stage) - lane + lane * kVectorBytes;
        copy_async(bits_slot(number) + warp * kFetchers + lane, work_.positive + from);
      }
    }
  }

  __device__ void copy_second(int number, int stage) const {
    uint4* const to = second_slot(number);
    if (FewPlaces::number(work_.second_places.stride) == 1) {
      place_.copy(to, work_.second_gradient, stage);
    } else if (place_.has(stage)) {
      const int few = work_.second_places.few_of(stage * kRows + place_.row);
      if (few < 0) {
        to[place_.thread] = {};
      } else {
        const std::int64_t from = static_cast<std::int64_t>(few) * batch_.channels + place_.channel;
        copy_async(to + place_.thread, static_cast<const T*>(work_.second_gradient) + from);
      }
    }
  }

  // For the second pass, which finds what the first one wrote, if it did.
  __device__ void copy_again(int number) const {
    if (number < 0) return;
    const int stage = this->stage(number);
    place_.copy(value_slot(number), work_.x, stage);
    place_.copy(gradient_slot(number), work_.masked != nullptr ? work_.masked : work_.gradient, stage);
  }

  __device__ bool passes(float x, int e) const { return passes_relu(fmaf(x - center_[e], scale_[e], offset_[e])); }

  // Of the gradient, and of its products with x - center. What it returns is for threads below kChannels.
  __device__ Pair sum_up() {
    float sum[kWidth<T>] = {}, product[kWidth<T>] = {};
    for (int number = 0; number < kDepth; ++number) copy_all(number), end_group();
    for (int number = 0; number < count_; ++number) {
      wait_for_groups<kDepth - 1>();
      if constexpr (kRelu == Relu::kFromBits) __syncwarp();  // for what the others have fetched
      if (place_.has(this->stage(number))) add_stage(number, sum, product);
      if constexpr (kRelu == Relu::kFromBits) __syncwarp();  // all have read before it is written over
      copy_all(number + kDepth);
      end_group();
    }
    wait_for_groups<0>();
    if (work_.masked != nullptr) __threadfence();  // copies of the second pass read what was stored here

    const Pair of_block = sum_over_rows<T>(sums_, sum, product);
    const int channel = this->own_channel();
    if (batch_.splits > 1 && place_.thread < kChannels && channel < batch_.channels) {
      exchange_.tell(place_.split, channel, of_block.first, of_block.second);
    }
    return of_block;
  }

  __device__ void add_stage(int number, float (&sum)[kWidth<T>], float (&product)[kWidth<T>]) const {
    float x[kWidth<T>], gradient[kWidth<T>];
    unpack<T>(x, value_slot(number)[place_.thread]);
    unpack<T>(gradient, gradient_slot(number)[place_.thread]);
    if (work_.second_gradient != nullptr) {
      float second[kWidth<T>];
      unpack<T>(second, second_slot(number)[place_.thread]);
#pragma unroll
      for (int e = 0; e < kWidth<T>; ++e) gradient[e] += second[e];
    }
    unsigned bits = 0;
    if constexpr (kRelu == Relu::kFromBits) {
      bits = reinterpret_cast<const std::uint8_t*>(bits_slot(number))[place_.thread];
    }
#pragma unroll
    for (int e = 0; e < kWidth<T>; ++e) {
      if constexpr (kRelu == Relu::kFromBits) gradient[e] = (bits >> e & 1U) != 0 ? gradient[e] : 0;
      if constexpr (kRelu == Relu::kFromValues) gradient[e] = passes(x[e], e) ? gradient[e] : 0;
    }
    if (work_.masked != nullptr) {
      const uint4 rounded = pack<T>(gradient);
      place_.store(work_.masked, this->stage(number), rounded);
      gradient_slot(number)[place_.thread] = rounded;
      unpack<T>(gradient, rounded);  // both passes see the same
    }
#pragma unroll
    for (int e = 0; e < kWidth<T>; ++e) {
      sum[e] += gradient[e];
      product[e] = fmaf(gradient[e], x[e] - center_[e], product[e]);
    }
  }

  // The gradient of x is scale * (g - mean(g) - (x - mean) * inverse^2 * mean(g * (x - mean))).
  __device__ void find_factors(Pair sums) {
    const int channel = this->own_channel();
    __syncthreads();  // all have read their sums
    if constexpr (kKnown) {
      for (int part = place_.thread / kChannels; channel < batch_.channels && part < work_.known_parts;
           part += kThreads / kChannels) {
        const GradientSums known = work_.known[static_cast<std::int64_t>(part) * batch_.channels + channel];
        sums.first += known.gradient;
        sums.second += known.product;
      }
      sums = sum_over_groups<T>(sums_, sums);
    } else if (batch_.splits > 1) {
      sums = this->sum_of_told([](int /*split*/, const Told& told, const Told& /*of_first*/) -> Pair {
        return {told.values[0], told.values[1]};
      });
    }
    if (place_.thread < kChannels && channel < batch_.channels) {
      const double gradient = sums.first, residue = parameters_.residue, inverse = parameters_.inverse;
      const double product = static_cast<double>(sums.second) + residue * gradient;  // with x - mean
      const double share = static_cast<double>(parameters_.scale) / batch_.rows;
      const double slope = -share * inverse * inverse * product;
      coefficients_[place_.thread] = static_cast<float>(slope);
      coefficients_[place_.thread + kChannels] = static_cast<float>(residue * slope - share * gradient);
      if (place_.split == 0) {
        work_.weight_gradient[channel] = static_cast<float>(product * inverse);
        work_.bias_gradient[channel] = static_cast<float>(gradient);
      }
    }
    __syncthreads();
  }

  __device__ void write_gradient() const {
    float slope[kWidth<T>], constant[kWidth<T>];
    this->take_coefficients(slope, 0);
    this->take_coefficients(constant, 1);
    const bool masks = kRelu == Relu::kFromValues && work_.masked == nullptr;
    for (int number = count_ - 1; number >= 0; --number) {
      const int stage = this->stage(number);
      wait_for_groups<kDepth - 1>();
      if (place_.has(stage)) {
        float x[kWidth<T>], gradient[kWidth<T>];
        unpack<T>(x, value_slot(number)[place_.thread]);
        unpack<T>(gradient, gradient_slot(number)[place_.thread]);
#pragma unroll
        for (int e = 0; e < kWidth<T>; ++e) {
          if (masks && !passes(x[e], e)) gradient[e] = 0;
          gradient[e] = fmaf(scale_[e], gradient[e], fmaf(slope[e], x[e] - center_[e], constant[e]));
        }
        place_.store(work_.x_gradient, stage, pack<T>(gradient));
      }
      if (number - kDepth >= slots_.kept) copy_again(number - kDepth);
      end_group();
    }
  }

  const BatchNormBackward& work_;
  Parameters parameters_;
  uint4 *const bits_, *const seconds_, *const stages_;
  float center_[kWidth<T>], scale_[kWidth<T>], offset_[kWidth<T>];
};

template <typename T, Relu kRelu, bool kKnown = false>
__global__ void __launch_bounds__(kThreads, 1) backward_kernel(const __grid_constant__ Arguments arguments) {
  extern __shared__ uint4 shared[];
  wait_for_earlier_work();
  Backward<T, kRelu, kKnown>(arguments, shared).run();
}

template <typename T>
auto kernel_for(const BatchNormBackward& work) {
  if (!work.relu) return backward_kernel<T, Relu::kNone>;
  return work.positive != nullptr ? backward_kernel<T, Relu::kFromBits> : backward_kernel<T, Relu::kFromValues>;
}

// Its blocks need nothing of each other, and keep nothing.
cudaError_t launch_known(Plan plan, const BatchNormBackward& work, const Launch& launch) {
  plan.kept = 0;
  return start(backward_kernel<__nv_bfloat16, Relu::kNone, true>, {plan.blocks(), kThreads, plan.shared_bytes}, launch,
               Arguments{work, together(plan, launch)});
}

}  // namespace

cudaError_t launch_backward(const BatchNormBackward& work, const Launch& launch) {
  const int bits = work.relu && work.positive != nullptr ? kBitsBytes : 0;
  const int second = work.second_gradient != nullptr ? kSecondBytes : 0;
  const Plan plan =
      plan_for(work.shape, launch.device,
               {.depth = kDepth, .stage_bytes = 2 * kStageBytes, .other_bytes = kSumBytes + bits + second});
  if (work.known != nullptr) return launch_known(plan, work, launch);
  const Arguments arguments{work, together(plan, launch)};
  return by_type(work.shape.type,
                 [&](auto type) { return launch_plan(kernel_for<decltype(type)>(work), plan, launch, arguments); });
}

}  // namespace lockstep::kernels::cuda
