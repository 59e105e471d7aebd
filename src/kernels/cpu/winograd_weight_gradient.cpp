#include <ATen/ops/empty.h>

#include "../parallel.h"
#include "winograd_conv.h"
#include "winograd_parts.h"

namespace lockstep::kernels {
namespace {

constexpr std::int64_t kBlockBytes = 1 << 20;  // of one core's tiles
constexpr std::int64_t kFewWeights = 1 << 18;  // at the points: a core has room for sums of its own

// The steps to the gradient of the weights. Here the `out` of a block has the gradient of the output.
class Steps {
 public:
  Steps(const ConvShape& shape, const float* input, const float* output_gradient)
      : shape_(shape),
        tiles_(shape),
        input_(input),
        output_gradient_(output_gradient),
        none_(static_cast<std::size_t>(std::max(shape.inputs, shape.outputs)), 0.0F) {}

  // [point][output][input]
  at::Tensor sums_at_points() const {
    const std::int64_t values = kWinogradPoints * shape_.outputs * shape_.inputs;
    return values <= kFewWeights ? sums_of_parts(values) : sums_of_shares(values);
  }

 private:
  void to_points(const WinogradBlock& block, std::int64_t begin, std::int64_t end) const {
    const std::int64_t inputs = shape_.inputs, outputs = shape_.outputs;
    for (std::int64_t i = begin; i < end; ++i) {
      const auto in = tiles_.input(block.first + i, input_, none_.data());
      transforms_of(shape_).input(in.data(), inputs, block.in + i * inputs, block.count * inputs);
      const auto out = tiles_.output(block.first + i, output_gradient_, none_.data());
      transforms_of(shape_).output_gradient(out.data(), outputs, block.out + i * outputs, block.count * outputs);
    }
  }

  void multiply(const WinogradBlock& block, std::int64_t first_point, std::int64_t last_point, float* sums,
                bool accumulate) const {
    const std::int64_t inputs = shape_.inputs, outputs = shape_.outputs;
    for (std::int64_t point = first_point; point < last_point; ++point) {
      products()->add_outer({.a = block.out + point * block.count * outputs,
                             .a_stride = outputs,
                             .b = block.in + point * block.count * inputs,
                             .b_stride = inputs,
                             .rows = block.count,
                             .a_columns = outputs,
                             .b_columns = inputs,
                             .c = sums + point * outputs * inputs,
                             .c_stride = inputs,
                             .accumulate = accumulate});
    }
  }

  // Each core has sums of its own. There are as many of them whatever the number of threads, so that the result does
  // not depend on it.
  at::Tensor sums_of_parts(std::int64_t values) const {
    constexpr std::int64_t kParts = 8, kFewestTiles = 56;
    const std::int64_t part = std::max(kFewestTiles, divide_up(tiles_.count(), kParts));
    const std::int64_t parts = divide_up(tiles_.count(), part);
    const std::int64_t size = tiles_of_block(shape_, kBlockBytes, part);
    at::Tensor sums = at::empty({parts, values}, at::kFloat);
    float* to = sums.mutable_data_ptr<float>();
    parallel_for(0, parts, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t number = begin; number < end; ++number) {
        const std::int64_t stop = std::min(tiles_.count(), (number + 1) * part);
        for (std::int64_t first = number * part; first < stop; first += size) {
          const auto block = make_block(shape_, first, std::min(size, stop - first));
          to_points(block, 0, block.count);
          multiply(block, 0, kWinogradPoints, to + number * values, first > number * part);
        }
      }
    });
    constexpr std::int64_t kGrain = 4096;
    parallel_for(0, values, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t number = 1; number < parts; ++number) {
        const float* from = to + number * values;
        for (std::int64_t i = begin; i < end; ++i) to[i] += from[i];
      }
    });
    return sums[0];
  }

  // All cores go through the same tiles, each with points of its own.
  at::Tensor sums_of_shares(std::int64_t values) const {
    const std::int64_t size = tiles_of_block(shape_, kSharedBytes, tiles_.count());
    at::Tensor sums = at::empty({values}, at::kFloat);
    float* to = sums.mutable_data_ptr<float>();
    for (std::int64_t first = 0; first < tiles_.count(); first += size) {
      const auto block = make_block(shape_, first, std::min(size, tiles_.count() - first));
      parallel_for(0, block.count, 1, [&](std::int64_t begin, std::int64_t end) { to_points(block, begin, end); });
      parallel_for(0, kWinogradPoints, 1,
                   [&](std::int64_t begin, std::int64_t end) { multiply(block, begin, end, to, first > 0); });
    }
    return sums;
  }

  ConvShape shape_;
  WinogradTiles tiles_;
  const float* input_;
  const float* output_gradient_;
  std::vector<float> none_;
};

}  // namespace

void winograd_weight_gradient(const ConvShape& shape, const float* input, const float* output_gradient,
                              float* weight_gradient) {
  const Recorded recorded("lockstep::convolution_weight_gradient", winograd_work(shape));
  const at::Tensor sums = Steps(shape, input, output_gradient).sums_at_points();
  const float* from = sums.const_data_ptr<float>();
  const std::int64_t taps = shape.taps(), inputs = shape.inputs;
  parallel_for(0, shape.outputs, 1, [&](std::int64_t begin, std::int64_t end) {
    std::array<float*, 25> pointers{};
    for (std::int64_t output = begin; output < end; ++output) {
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        pointers[static_cast<std::size_t>(tap)] = weight_gradient + (output * taps + tap) * inputs;
      }
      transforms_of(shape).weight_gradient(from + output * inputs, shape.outputs * inputs, inputs, pointers.data());
    }
  });
}

}  // namespace lockstep::kernels
