#include "winograd_conv.h"

#include <ATen/Parallel.h>

#include "../parallel.h"
#include "packed_matrix.h"
#include "winograd_parts.h"

namespace lockstep::kernels {
namespace {

constexpr std::int64_t kBlockBytes = 1 << 20;  // of one core's tiles
// Weights at the points, of which a core's second cache holds enough beside these: then a core takes tiles through all
// steps. More of them are shared, point by point, and each core reads only its own.
constexpr std::int64_t kSmallWeights = 640 << 10;

// Weights [outputs][tap][inputs].
struct Weights {
  const float* values;
  std::int64_t outputs, taps, inputs;

  const float* at(std::int64_t output, std::int64_t tap) const { return values + (output * taps + tap) * inputs; }
};

using TapPointers = std::array<const float*, 25>;

// The matrices at the points that a convolution multiplies by.
class MatricesAtPoints {
 public:
  MatricesAtPoints(const WinogradTransforms& transforms, std::int64_t depth, std::int64_t columns)
      : matrix(make_packed(*products(), kWinogradPoints, depth, columns)), transforms_(transforms) {}

  // One row's, of a panel, from the values of its columns in each tap.
  void set(std::int64_t panel, std::int64_t row, const TapPointers& taps) {
    const std::int64_t point_stride = matrix.depth * matrix.panel;
    float* to = matrix.values.mutable_data_ptr<float>() + panel * kWinogradPoints * point_stride + row * matrix.panel;
    transforms_.weight(taps.data(), matrix.columns_of(panel), to, point_stride);
  }

  PackedMatrix matrix;

 private:
  const WinogradTransforms& transforms_;
};

// From inputs to outputs. Of a line of inputs the values for a panel of outputs are brought side by side first.
PackedMatrix forward_weights(const WinogradTransforms& transforms, const Weights& weights) {
  constexpr std::int64_t kLine = 16;
  MatricesAtPoints points(transforms, weights.inputs, weights.outputs);
  const std::int64_t panel_width = points.matrix.panel, lines = divide_up(weights.inputs, kLine);
  parallel_for(0, points.matrix.panels() * lines, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> copies(static_cast<std::size_t>(kLine * weights.taps * panel_width));  // [input][tap][output]
    const auto copy_of = [&](std::int64_t input, std::int64_t tap) {
      return copies.data() + (input * weights.taps + tap) * panel_width;
    };
    TapPointers pointers{};
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t panel = i / lines, first = i % lines * kLine, count = std::min(kLine, weights.inputs - first);
      for (std::int64_t output = 0; output < points.matrix.columns_of(panel); ++output) {
        for (std::int64_t tap = 0; tap < weights.taps; ++tap) {
          const float* from = weights.at(panel * panel_width + output, tap) + first;
          for (std::int64_t input = 0; input < count; ++input) copy_of(input, tap)[output] = from[input];
        }
      }
      for (std::int64_t input = 0; input < count; ++input) {
        for (std::int64_t tap = 0; tap < weights.taps; ++tap) {
          pointers[static_cast<std::size_t>(tap)] = copy_of(input, tap);
        }
        points.set(panel, first + input, pointers);
      }
    }
  });
  return points.matrix;
}

// From outputs to inputs, for the gradient: turned by half a circle.
PackedMatrix backward_weights(const WinogradTransforms& transforms, const Weights& weights) {
  MatricesAtPoints points(transforms, weights.outputs, weights.inputs);
  parallel_for(0, points.matrix.panels() * weights.outputs, 1, [&](std::int64_t begin, std::int64_t end) {
    TapPointers pointers{};
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t panel = i / weights.outputs, output = i % weights.outputs;
      for (std::int64_t tap = 0; tap < weights.taps; ++tap) {
        pointers[static_cast<std::size_t>(tap)] =
            weights.at(output, weights.taps - 1 - tap) + panel * points.matrix.panel;
      }
      points.set(panel, output, pointers);
    }
  });
  return points.matrix;
}

// The steps of a convolution.
class Steps {
 public:
  struct Operands {
    const float* source;
    const PackedMatrix& weights;
    const float* bias;
    bool relu;
    float* dest;
  };

  Steps(const ConvShape& shape, const Operands& operands)
      : shape_(shape), tiles_(shape), operands_(operands), none_(static_cast<std::size_t>(shape.inputs), 0.0F) {}

  void to_points(const WinogradBlock& block, std::int64_t begin, std::int64_t end) const {
    const std::int64_t width = shape_.inputs;
    for (std::int64_t i = begin; i < end; ++i) {
      const auto pixels = tiles_.input(block.first + i, operands_.source, none_.data());
      transforms_of(shape_).input(pixels.data(), width, block.in + i * width, block.count * width);
    }
  }

  void multiply(const WinogradBlock& block, std::int64_t first_point, std::int64_t last_point) const {
    const PackedMatrix& weights = operands_.weights;
    std::vector<const float*> from(static_cast<std::size_t>(block.count));
    std::vector<float*> to(from.size());
    for (std::int64_t point = first_point; point < last_point; ++point) {
      for (std::int64_t i = 0; i < block.count; ++i) {
        from[static_cast<std::size_t>(i)] = block.in + (point * block.count + i) * shape_.inputs;
        to[static_cast<std::size_t>(i)] = block.out + (point * block.count + i) * shape_.outputs;
      }
      for (std::int64_t panel = 0; panel < weights.panels(); ++panel) {
        products()->multiply_rows({.a = from.data(),
                                   .rows = block.count,
                                   .depth = shape_.inputs,
                                   .b = weights.at(panel, point),
                                   .c = to.data(),
                                   .column = panel * weights.panel,
                                   .columns = weights.columns_of(panel)});
      }
    }
  }

  void from_points(const WinogradBlock& block, std::int64_t begin, std::int64_t end) const {
    const std::int64_t width = shape_.outputs;
    for (std::int64_t i = begin; i < end; ++i) {
      const auto pixels = tiles_.output<float>(block.first + i, operands_.dest, nullptr);
      transforms_of(shape_).output(block.out + i * width, block.count * width, width, pixels.data(), operands_.bias,
                                   operands_.relu);
    }
  }

  void run() const {
    if (kWinogradPoints * shape_.inputs * shape_.outputs <= kSmallWeights) {
      const std::int64_t size = tiles_of_block(shape_, kBlockBytes, divide_up(tiles_.count(), at::get_num_threads()));
      parallel_for(0, divide_up(tiles_.count(), size), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t number = begin; number < end; ++number) {
          const auto block = make_block(shape_, number * size, std::min(size, tiles_.count() - number * size));
          to_points(block, 0, block.count);
          multiply(block, 0, kWinogradPoints);
          from_points(block, 0, block.count);
        }
      });
      return;
    }
    const std::int64_t size = tiles_of_block(shape_, kSharedBytes, tiles_.count());
    for (std::int64_t first = 0; first < tiles_.count(); first += size) {
      const auto block = make_block(shape_, first, std::min(size, tiles_.count() - first));
      const auto share = [&](std::int64_t end, auto step) {
        parallel_for(0, end, 1, [&](std::int64_t from, std::int64_t to) { (this->*step)(block, from, to); });
      };
      share(block.count, &Steps::to_points);
      share(kWinogradPoints, &Steps::multiply);
      share(block.count, &Steps::from_points);
    }
  }

 private:
  ConvShape shape_;
  WinogradTiles tiles_;
  Operands operands_;
  std::vector<float> none_;
};

}  // namespace

bool suits_winograd(const ConvShape& shape) {
  constexpr std::int64_t kChannels = 16, kTiles = 32;
  return winograd() != nullptr && (shape.side == 3 || shape.side == 5) && shape.pad_height < shape.side &&
         shape.pad_width < shape.side && shape.out_height() > 0 && shape.out_width() > 0 &&
         shape.inputs % kChannels == 0 && shape.outputs % kChannels == 0 && WinogradTiles(shape).count() >= kTiles;
}

void winograd_forward(const ConvShape& shape, const float* input, const float* weight, const float* bias, bool relu,
                      float* output) {
  const Recorded recorded("lockstep::convolution", winograd_work(shape));
  const PackedMatrix packed =
      forward_weights(transforms_of(shape), {weight, shape.outputs, shape.taps(), shape.inputs});
  Steps(shape, {.source = input, .weights = packed, .bias = bias, .relu = relu, .dest = output}).run();
}

void winograd_input_gradient(const ConvShape& shape, const float* output_gradient, const float* weight,
                             float* input_gradient) {
  // A convolution the other way round.
  const ConvShape back{.batch = shape.batch,
                       .inputs = shape.outputs,
                       .outputs = shape.inputs,
                       .height = shape.out_height(),
                       .width = shape.out_width(),
                       .side = shape.side,
                       .pad_height = shape.side - 1 - shape.pad_height,
                       .pad_width = shape.side - 1 - shape.pad_width};
  const Recorded recorded("lockstep::convolution_input_gradient", winograd_work(back));
  const PackedMatrix packed =
      backward_weights(transforms_of(shape), {weight, shape.outputs, shape.taps(), shape.inputs});
  Steps(back, {.source = output_gradient, .weights = packed, .bias = nullptr, .relu = false, .dest = input_gradient})
      .run();
}

}  // namespace lockstep::kernels
