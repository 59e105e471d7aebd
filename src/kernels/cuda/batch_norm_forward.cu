// Batch normalization of a batch by its own statistics, with what follows it, in one kernel. A block reads its rows
// twice: for the sums, and from the last to the first to normalize them. The first ones stay in its shared memory in
// between, the last ones are there anyway, and of the others many are still in the second-level cache. Where whoever
// wrote the rows has the sums already, it only normalizes.
#include "chunk_block.cuh"
#include "launch.cuh"

namespace lockstep::kernels::cuda {
namespace {

constexpr int kDepth = 8;  // stages on their way at a time

struct Arguments {
  BatchNormForward work;
  Together together;
};

// Of the values of a block and channel: the first one, their mean from there, and the sum of squares round that mean.
struct Found {
  float first, mean, squares;
};

// What a channel's coefficients need besides: asked for early, so that nobody waits for it later.
struct Parameters {
  float weight = 0, bias = 0, running_mean = 0, running_var = 0;
};

template <typename T, bool kAdds, bool kKnown>
class Forward : ChunkBlock<T, kDepth> {
  using Block = ChunkBlock<T, kDepth>;
  using Block::batch_, Block::coefficients_, Block::count_, Block::exchange_, Block::kChannels, Block::place_,
      Block::slots_, Block::sums_;

 public:
  __device__ Forward(const Arguments& arguments, uint4* shared)
      : Block(arguments.together, shared),
        work_(arguments.work),
        shortcuts_(Block::rest_),
        values_(shortcuts_ + (kAdds ? kDepth * kThreads : 0)) {}

  __device__ void run() {
    load_parameters();
    if constexpr (kKnown) {
      prefetch();
      find_coefficients({});
      normalize();
    } else {
      const Found found = sum_up();
      prefetch();
      find_coefficients(found);
      normalize();
      this->leave();
    }
  }

 private:
  __device__ void load_parameters() {
    const int channel = this->own_channel();
    if (place_.thread >= kChannels || channel >= batch_.channels) return;
    parameters_.weight = work_.weight[channel];
    parameters_.bias = work_.bias[channel];
    if (place_.split != 0 || work_.running_mean == nullptr) return;
    parameters_.running_mean = work_.running_mean[channel];
    parameters_.running_var = work_.running_var[channel];
  }

  __device__ uint4* value_slot(int number) const { return values_ + slots_(number) * kThreads; }
  __device__ uint4* shortcut_slot(int number) const { return shortcuts_ + (number & (kDepth - 1)) * kThreads; }

  // Stage `number` of this block's.
  __device__ void copy_values(int number) const {
    if (number < count_) place_.copy(value_slot(number), work_.x, this->stage(number));
  }
  // In the order of the second pass.
  __device__ void copy_shortcut(int step) const {
    if (step < count_) place_.copy(shortcut_slot(step), work_.shortcut, this->stage(count_ - 1 - step));
  }

  // What it returns is for threads below kChannels.
  __device__ Found sum_up() {
    for (int number = 0; number < kDepth; ++number) copy_values(number), end_group();
    // Differences from a value of the same channel, so that a large mean costs no digits.
    float first[kWidth<T>] = {}, sum[kWidth<T>] = {}, squares[kWidth<T>] = {};
    const T* first_row =
        static_cast<const T*>(work_.x) + static_cast<std::int64_t>(place_.part.begin) * kRows * batch_.channels;
    if (place_.channel < batch_.channels) {
      unpack<T>(first, *reinterpret_cast<const uint4*>(first_row + place_.channel));
    }
    for (int number = 0; number < count_; ++number) {
      wait_for_groups<kDepth - 1>();
      if (place_.has(this->stage(number))) {
        float x[kWidth<T>];
        unpack<T>(x, value_slot(number)[place_.thread]);
#pragma unroll
        for (int e = 0; e < kWidth<T>; ++e) {
          const float away = x[e] - first[e];
          sum[e] += away;
          squares[e] = fmaf(away, away, squares[e]);
        }
      }
      copy_values(number + kDepth);
      end_group();
    }
    wait_for_groups<0>();

    const Pair of_block = sum_over_rows<T>(sums_, sum, squares);
    const int channel = this->own_channel();
    if (place_.thread >= kChannels || channel >= batch_.channels) return {};
    const float rows = static_cast<float>(batch_.rows_of(place_.part)), mean = of_block.first / rows;
    const Found found{to_float(first_row[channel]), mean, fmaxf(fmaf(-mean, of_block.first, of_block.second), 0)};
    if (batch_.splits > 1) exchange_.tell(place_.split, channel, found.first, found.mean, found.squares);
    return found;
  }

  // For the first steps of normalize().
  __device__ void prefetch() const {
    for (int step = 0; step < kDepth; ++step) {
      if constexpr (kKnown) {
        if (step < count_) copy_values(count_ - 1 - step);
      }
      if constexpr (kAdds) copy_shortcut(step);
      end_group();
    }
  }

  // From what all blocks found; each block does the same.
  __device__ void find_coefficients(Found first) {
    const int channel = this->own_channel();
    Pair sums{0, first.squares};
    // From the first part's mean.
    const auto away_from_first = [&](const Found& found, float rows) -> Pair {
      const float away = ((found.first - first.first) + found.mean) - first.mean;
      return {rows * away, fmaf(rows * away, away, found.squares)};
    };
    __syncthreads();  // all have read their sums
    if constexpr (kKnown) {
      sums = {0, 0};
      if (channel < batch_.channels) {
        first = {work_.known[channel].first, work_.known[channel].mean};
        for (int part = place_.thread / kChannels; part < work_.known_parts; part += kThreads / kChannels) {
          const KnownValues known = work_.known[static_cast<std::int64_t>(part) * batch_.channels + channel];
          const Pair one = away_from_first({known.first, known.mean, known.squares}, known.count);
          sums.first += one.first;
          sums.second += one.second;
        }
      }
      sums = sum_over_groups<T>(sums_, sums);
    } else if (batch_.splits > 1) {
      sums = this->sum_of_told([&](int split, const Told& told, const Told& of_first) -> Pair {
        first = {of_first.values[0], of_first.values[1]};
        return away_from_first({told.values[0], told.values[1], told.values[2]},
                               static_cast<float>(batch_.rows_of(batch_.of(split))));
      });
    }
    if (place_.thread < kChannels && channel < batch_.channels) {
      const double rows = batch_.rows, away = static_cast<double>(sums.first) / rows;
      const double squares = static_cast<double>(sums.second) - static_cast<double>(sums.first) * away;
      keep(channel, static_cast<double>(first.first) + (static_cast<double>(first.mean) + away),
           squares > 0 || squares != squares ? squares / rows : 0);
    }
    __syncthreads();
  }

  __device__ void keep(int channel, double mean, double variance) {
    const auto center = static_cast<float>(mean);
    const double residue = static_cast<double>(center) - mean, inverse = 1 / sqrt(variance + work_.eps);
    const double scale = static_cast<double>(parameters_.weight) * inverse;
    const double offset = static_cast<double>(parameters_.bias) + residue * scale;
    coefficients_[place_.thread] = center;
    coefficients_[place_.thread + kChannels] = static_cast<float>(scale);
    coefficients_[place_.thread + 2 * kChannels] = static_cast<float>(offset);
    if (place_.split != 0) return;
    work_.kept.center[channel] = center;
    work_.kept.scale[channel] = static_cast<float>(scale);
    work_.kept.offset[channel] = static_cast<float>(offset);
    work_.kept.inverse[channel] = static_cast<float>(inverse);
    work_.kept.residue[channel] = static_cast<float>(residue);
    if (channel == 0 && work_.batches != nullptr) ++*work_.batches;
    if (work_.running_mean == nullptr) return;
    if (work_.input_bias != nullptr) mean += static_cast<double>(work_.input_bias[channel]);
    const double rows = batch_.rows, rest = 1 - work_.momentum;
    work_.running_mean[channel] =
        static_cast<float>(work_.momentum * mean + rest * static_cast<double>(parameters_.running_mean));
    work_.running_var[channel] = static_cast<float>(work_.momentum * (variance * rows / (rows - 1)) +
                                                    rest * static_cast<double>(parameters_.running_var));
  }

  __device__ void normalize() const {
    float sums[kWidth<T>] = {};
    float center[kWidth<T>], scale[kWidth<T>], offset[kWidth<T>];
    this->take_coefficients(center, 0);
    this->take_coefficients(scale, 1);
    this->take_coefficients(offset, 2);
    for (int step = 0; step < count_; ++step) {
      const int number = count_ - 1 - step, stage = this->stage(number);
      wait_for_groups<kDepth - 1>();
      if (place_.has(stage)) {
        float values[kWidth<T>], more[kWidth<T>];
        unpack<T>(values, value_slot(number)[place_.thread]);
        if constexpr (kAdds) unpack<T>(more, shortcut_slot(step)[place_.thread]);
        unsigned passed = 0;
#pragma unroll
        for (int e = 0; e < kWidth<T>; ++e) {
          float value = fmaf(values[e] - center[e], scale[e], offset[e]);
          if constexpr (kAdds) value += more[e];
          const bool passes = !work_.relu || passes_relu(value);
          passed |= passes ? 1U << e : 0U;
          values[e] = passes ? value : 0;
          sums[e] += values[e];
        }
        place_.store(work_.y, stage, pack<T>(values));
        if (work_.positive != nullptr) {
          work_.positive[place_.byte(batch_, stage)] = static_cast<std::uint8_t>(passed);
        }
      }
      // The last kDepth stages are here from the first pass, those that are kept are too.
      if (number - kDepth >= slots_.kept) copy_values(number - kDepth);
      if constexpr (kAdds) copy_shortcut(step + kDepth);
      end_group();
    }
    if (work_.y_sums != nullptr) write_sums(sums);
  }

  __device__ void write_sums(const float (&sums)[kWidth<T>]) const {
    constexpr float kNothing[kWidth<T>] = {};
    __syncthreads();
    const Pair of_block = sum_over_rows<T>(sums_, sums, kNothing);
    const int channel = this->own_channel();
    if (place_.thread < kChannels && channel < batch_.channels) {
      work_.y_sums[static_cast<std::int64_t>(place_.split) * batch_.channels + channel] = of_block.first;
    }
  }

  const BatchNormForward& work_;
  Parameters parameters_;
  uint4 *const shortcuts_, *const values_;
};

template <typename T, bool kAdds, bool kKnown>
__global__ void __launch_bounds__(kThreads, 1) forward_kernel(const __grid_constant__ Arguments arguments) {
  extern __shared__ uint4 shared[];
  wait_for_earlier_work();
  Forward<T, kAdds, kKnown>(arguments, shared).run();
}

// Its blocks need nothing of each other, and keep nothing.
cudaError_t launch_known(Plan plan, const BatchNormForward& work, const Launch& launch) {
  plan.kept = 0;
  const auto kernel =
      work.shortcut != nullptr ? forward_kernel<__nv_bfloat16, true, true> : forward_kernel<__nv_bfloat16, false, true>;
  return start(kernel, {plan.blocks(), kThreads, plan.shared_bytes}, launch, Arguments{work, together(plan, launch)});
}

}  // namespace

cudaError_t launch_forward(const BatchNormForward& work, const Launch& launch) {
  const bool adds = work.shortcut != nullptr;
  const Plan plan = plan_for(
      work.shape, launch.device,
      {.depth = kDepth, .stage_bytes = kStageBytes, .other_bytes = kSumBytes + (adds ? kDepth * kStageBytes : 0)});
  if (work.known != nullptr) return launch_known(plan, work, launch);
  const Arguments arguments{work, together(plan, launch)};
  return by_type(work.shape.type, [&](auto type) {
    using T = decltype(type);
    return launch_plan(adds ? forward_kernel<T, true, false> : forward_kernel<T, false, false>, plan, launch,
                       arguments);
  });
}

}  // namespace lockstep::kernels::cuda
