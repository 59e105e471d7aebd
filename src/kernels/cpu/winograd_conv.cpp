#include "winograd_conv.h"

#include <ATen/Parallel.h>
#include <ATen/ops/from_blob.h>

#include "../parallel.h"
#include "packed_matrix.h"
#include "winograd_parts.h"

namespace lockstep::kernels {
namespace {

constexpr std::int64_t kBlockBytes = 1 << 20;  // of one core's tiles
// Weights at the points, of which a core's second cache holds enough beside these: then a core takes tiles through all
// steps. More of them are shared, point by point, and each core reads only its own.
constexpr std::int64_t kSmallWeights = 640 << 10;

// Matrices at the points of weights [depth][tap][columns]; turned by half a circle for the gradient of the input.
PackedMatrix weights_at_points(const WinogradTransforms& transforms, const float* weights, std::int64_t depth,
                               std::int64_t taps, std::int64_t columns, bool turned) {
  PackedMatrix matrix = make_packed(*products(), kWinogradPoints, depth, columns);
  float* to = matrix.values.mutable_data_ptr<float>();
  const std::int64_t point_stride = depth * matrix.panel;
  parallel_for(0, matrix.panels() * depth, 1, [&](std::int64_t begin, std::int64_t end) {
    std::array<const float*, 25> pointers{};
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t panel = i / depth, k = i % depth;
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        pointers[static_cast<std::size_t>(tap)] =
            weights + (k * taps + (turned ? taps - 1 - tap : tap)) * columns + panel * matrix.panel;
      }
      transforms.weight(pointers.data(), matrix.columns_of(panel),
                        to + panel * kWinogradPoints * point_stride + k * matrix.panel, point_stride);
    }
  });
  return matrix;
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
  // [outputs][taps][inputs] to [inputs][taps][outputs]
  const at::Tensor turned_round = at::from_blob(const_cast<float*>(weight), {shape.outputs, shape.taps(), shape.inputs})
                                      .permute({2, 1, 0})
                                      .contiguous();
  const PackedMatrix packed = weights_at_points(transforms_of(shape), turned_round.const_data_ptr<float>(),
                                                shape.inputs, shape.taps(), shape.outputs, /*turned=*/false);
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
  const PackedMatrix packed = weights_at_points(transforms_of(shape), weight, shape.outputs, shape.taps(), shape.inputs,
                                                /*turned=*/true);
  Steps(back, {.source = output_gradient, .weights = packed, .bias = nullptr, .relu = false, .dest = input_gradient})
      .run();
}

}  // namespace lockstep::kernels
