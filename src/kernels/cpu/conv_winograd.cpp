#include "conv_winograd.h"

#include <algorithm>
#include <numeric>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "../parallel.h"
#include "winograd_tiles.h"

namespace lockstep::kernels::cpu {
namespace {

constexpr std::int64_t kFloat = sizeof(float);
// Weights at the points that fit into a core's second cache beside some tiles: then a core takes tiles through all
// steps. Larger ones are shared, point by point, and each core reads only its own.
constexpr std::int64_t kSmallWeights = 5 << 19;
constexpr std::int64_t kBlockBytes = 1 << 20;   // of tiles at all points, for one core
constexpr std::int64_t kSharedBytes = 1 << 24;  // for all

at::Tensor floats(std::int64_t count) {
  return at::empty({count}, at::kFloat);
}

std::int64_t divide_up(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}

// [outputs][point][inputs] of weights [outputs][tap][inputs]; turned by half a circle for the gradient of the input.
at::Tensor weights_at_points(const ConvShape& shape, const WinogradTransforms& transforms, const float* weight,
                             bool turned) {
  const std::int64_t taps = shape.taps();
  at::Tensor result = floats(shape.outputs * kWinogradPoints * shape.inputs);
  float* to = result.mutable_data_ptr<float>();
  parallel_for(0, shape.outputs, 1, [&](std::int64_t begin, std::int64_t end) {
    std::array<const float*, 25> pointers;
    for (std::int64_t output = begin; output < end; ++output) {
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        pointers[static_cast<std::size_t>(tap)] =
            weight + (output * taps + (turned ? taps - 1 - tap : tap)) * shape.inputs;
      }
      transforms.weight(pointers.data(), shape.inputs, to + output * kWinogradPoints * shape.inputs, shape.inputs);
    }
  });
  return result;
}

std::vector<std::int64_t> all_points() {
  std::vector<std::int64_t> points(kWinogradPoints);
  std::iota(points.begin(), points.end(), 0);
  return points;
}

// Tiles that are taken through the steps together.
struct Block {
  std::int64_t first, count;
  float* in;   // [point][tile][inputs]
  float* out;  // [point][tile][outputs]
};

// The steps of a convolution.
class Forward {
 public:
  Forward(const Products& products, const WinogradTiles& tiles, const float* source, const PackedMatrix& weights,
          float* dest, const Finish& finish)
      : products_(products),
        tiles_(tiles),
        source_(source),
        weights_(weights),
        dest_(dest),
        finish_(finish),
        none_(static_cast<std::size_t>(tiles.shape().inputs), 0.0F) {}

  void to_points(const Block& block, std::int64_t begin, std::int64_t end) const {
    const std::int64_t width = tiles_.shape().inputs;
    for (std::int64_t i = begin; i < end; ++i) {
      const auto pixels = tiles_.input(block.first + i, source_, none_.data());
      tiles_.transforms().input(pixels.data(), width, block.in + i * width, block.count * width);
    }
  }

  void multiply(const Block& block, std::int64_t first_point, std::int64_t last_point) const {
    const std::int64_t inputs = tiles_.shape().inputs, outputs = tiles_.shape().outputs;
    std::vector<const float*> from(static_cast<std::size_t>(block.count));
    std::vector<float*> to(static_cast<std::size_t>(block.count));
    for (std::int64_t point = first_point; point < last_point; ++point) {
      for (std::int64_t i = 0; i < block.count; ++i) {
        from[static_cast<std::size_t>(i)] = block.in + (point * block.count + i) * inputs;
        to[static_cast<std::size_t>(i)] = block.out + (point * block.count + i) * outputs;
      }
      for (std::int64_t panel = 0; panel < weights_.panels(); ++panel) {
        products_.multiply_rows({.a = from.data(),
                                 .rows = block.count,
                                 .depth = inputs,
                                 .b = weights_.at(panel, point),
                                 .c = to.data(),
                                 .column = panel * weights_.panel,
                                 .columns = weights_.columns_of(panel)});
      }
    }
  }

  void from_points(const Block& block, std::int64_t begin, std::int64_t end) const {
    const std::int64_t width = tiles_.shape().outputs;
    for (std::int64_t i = begin; i < end; ++i) {
      const auto pixels = tiles_.output<float>(block.first + i, dest_, nullptr);
      tiles_.transforms().output(block.out + i * width, block.count * width, width, pixels.data(), finish_.bias,
                                 finish_.relu);
    }
  }

 private:
  const Products& products_;
  const WinogradTiles& tiles_;
  const float* source_;
  const PackedMatrix& weights_;
  float* dest_;
  Finish finish_;
  std::vector<float> none_;
};

// Tiles of a block, in whole rows of what is multiplied at once.
std::int64_t block_of_tiles(const Products& products, std::int64_t tiles, std::int64_t tile_bytes, std::int64_t bytes,
                            std::int64_t parts) {
  const std::int64_t rows = products.row_tile;
  const std::int64_t fitting = std::max<std::int64_t>(1, bytes / (tile_bytes * rows)) * rows;
  return std::min(fitting, divide_up(divide_up(tiles, parts), rows) * rows);
}

void multiply_tiles(const Products& products, const WinogradTiles& tiles, const float* source,
                    const PackedMatrix& weights, float* dest, const Finish& finish) {
  const std::int64_t inputs = tiles.shape().inputs, outputs = tiles.shape().outputs;
  const std::int64_t tile_bytes = kWinogradPoints * (inputs + outputs) * kFloat;
  const Forward steps(products, tiles, source, weights, dest, finish);
  const auto with_block = [&](std::int64_t size, std::int64_t number, auto run) {
    const std::int64_t first = number * size, count = std::min(size, tiles.count() - first);
    const at::Tensor in = floats(kWinogradPoints * count * inputs), out = floats(kWinogradPoints * count * outputs);
    run(Block{first, count, in.mutable_data_ptr<float>(), out.mutable_data_ptr<float>()});
  };
  if (kWinogradPoints * inputs * outputs * kFloat <= kSmallWeights) {
    const std::int64_t size = block_of_tiles(products, tiles.count(), tile_bytes, kBlockBytes, at::get_num_threads());
    parallel_for(0, divide_up(tiles.count(), size), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t number = begin; number < end; ++number) {
        with_block(size, number, [&](const Block& block) {
          steps.to_points(block, 0, block.count);
          steps.multiply(block, 0, kWinogradPoints);
          steps.from_points(block, 0, block.count);
        });
      }
    });
    return;
  }
  const std::int64_t size = block_of_tiles(products, tiles.count(), tile_bytes, kSharedBytes, 1);
  for (std::int64_t number = 0; number < divide_up(tiles.count(), size); ++number) {
    with_block(size, number, [&](const Block& block) {
      const auto shared = [&](std::int64_t end, auto step) {
        parallel_for(0, end, 1, [&](std::int64_t from, std::int64_t to) { (steps.*step)(block, from, to); });
      };
      shared(block.count, &Forward::to_points);
      shared(kWinogradPoints, &Forward::multiply);
      shared(block.count, &Forward::from_points);
    });
  }
}

// The steps to the gradient of the weights. Here `out` has the result's gradient at the points.
class Backward {
 public:
  Backward(const Products& products, const WinogradTiles& tiles, const float* input, const float* output_gradient)
      : products_(products),
        tiles_(tiles),
        input_(input),
        output_gradient_(output_gradient),
        none_(static_cast<std::size_t>(std::max(tiles.shape().inputs, tiles.shape().outputs)), 0.0F) {}

  void to_points(const Block& block, std::int64_t begin, std::int64_t end) const {
    const std::int64_t inputs = tiles_.shape().inputs, outputs = tiles_.shape().outputs;
    for (std::int64_t i = begin; i < end; ++i) {
      const auto from = tiles_.input(block.first + i, input_, none_.data());
      tiles_.transforms().input(from.data(), inputs, block.in + i * inputs, block.count * inputs);
      const auto result = tiles_.output(block.first + i, output_gradient_, none_.data());
      tiles_.transforms().output_gradient(result.data(), outputs, block.out + i * outputs, block.count * outputs);
    }
  }

  // Adds to gradient [point][output][input].
  void multiply(const Block& block, std::int64_t first_point, std::int64_t last_point, float* gradient) const {
    const std::int64_t inputs = tiles_.shape().inputs, outputs = tiles_.shape().outputs;
    std::vector<const float*> in(static_cast<std::size_t>(block.count)), out(in.size());
    for (std::int64_t point = first_point; point < last_point; ++point) {
      for (std::int64_t i = 0; i < block.count; ++i) {
        in[static_cast<std::size_t>(i)] = block.in + (point * block.count + i) * inputs;
        out[static_cast<std::size_t>(i)] = block.out + (point * block.count + i) * outputs;
      }
      products_.add_outer({.a = out.data(),
                           .b = in.data(),
                           .rows = block.count,
                           .a_columns = outputs,
                           .b_columns = inputs,
                           .c = gradient + point * outputs * inputs,
                           .c_stride = inputs});
    }
  }

 private:
  const Products& products_;
  const WinogradTiles& tiles_;
  const float* input_;
  const float* output_gradient_;
  std::vector<float> none_;
};

// Sums of parts [part][value], into the first.
void add_parts(float* parts, std::int64_t count, std::int64_t values) {
  constexpr std::int64_t kGrain = 4096;
  parallel_for(0, values, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = 1; part < count; ++part) {
      const float* from = parts + part * values;
      for (std::int64_t i = begin; i < end; ++i) parts[i] += from[i];
    }
  });
}

}  // namespace

bool fits_winograd(const ConvShape& shape) {
  constexpr std::int64_t kChannels = 16;
  const auto& kernel = shape.kernel;
  return kernel[0] == 1 && shape.in[0] == 1 && shape.padding[0] == 0 && kernel[1] == kernel[2] &&
         (kernel[1] == 3 || kernel[1] == 5) && shape.stride == Extents{1, 1, 1} && shape.dilation == Extents{1, 1, 1} &&
         shape.padding[1] < kernel[1] && shape.padding[2] < kernel[2] && shape.inputs % kChannels == 0 &&
         shape.outputs % kChannels == 0;
}

void winograd_forward(const Products& products, const ConvShape& shape, const float* input, const float* weight,
                      float* output, const Finish& finish) {
  const WinogradTiles tiles(shape);
  const at::Tensor points = weights_at_points(shape, tiles.transforms(), weight, /*turned=*/false);
  const auto packed =
      pack_columns(products, points.const_data_ptr<float>(), shape.outputs, kWinogradPoints, shape.inputs);
  multiply_tiles(products, tiles, input, packed, output, finish);
}

void winograd_input_gradient(const Products& products, const ConvShape& shape, const float* output_gradient,
                             const float* weight, float* input_gradient) {
  // A convolution the other way round.
  ConvShape back = shape;
  back.in = shape.out();
  std::swap(back.inputs, back.outputs);
  for (const std::size_t i : {1, 2}) back.padding[i] = shape.kernel[i] - 1 - shape.padding[i];
  const WinogradTiles tiles(back);
  const at::Tensor points = weights_at_points(shape, tiles.transforms(), weight, /*turned=*/true);
  const auto packed =
      pack_rows(products, points.const_data_ptr<float>(), shape.outputs, kWinogradPoints, all_points(), shape.inputs);
  multiply_tiles(products, tiles, output_gradient, packed, input_gradient, {});
}

void winograd_weight_gradient(const Products& products, const ConvShape& shape, const float* input,
                              const float* output_gradient, float* weight_gradient) {
  const WinogradTiles tiles(shape);
  const Backward steps(products, tiles, input, output_gradient);
  const std::int64_t inputs = shape.inputs, outputs = shape.outputs;
  const std::int64_t tile_bytes = kWinogradPoints * (inputs + outputs) * kFloat;
  const std::int64_t values = kWinogradPoints * outputs * inputs;
  at::Tensor sums;
  const auto with_tiles = [&](std::int64_t first, std::int64_t count, auto run) {
    const at::Tensor in = floats(kWinogradPoints * count * inputs), out = floats(kWinogradPoints * count * outputs);
    run(Block{first, count, in.mutable_data_ptr<float>(), out.mutable_data_ptr<float>()});
  };
  if (values * kFloat <= kSmallWeights) {
    // In parts that do not depend on the number of threads, so the sum does not either.
    constexpr std::int64_t kParts = 16, kFewest = 56;
    const std::int64_t part = std::max(kFewest, divide_up(tiles.count(), kParts));
    const std::int64_t parts = divide_up(tiles.count(), part);
    const std::int64_t size = block_of_tiles(products, part, tile_bytes, kBlockBytes / 2, 1);
    sums = at::zeros({parts * values}, at::kFloat);
    float* to = sums.mutable_data_ptr<float>();
    parallel_for(0, parts, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t number = begin; number < end; ++number) {
        const std::int64_t stop = std::min(tiles.count(), (number + 1) * part);
        for (std::int64_t first = number * part; first < stop; first += size) {
          with_tiles(first, std::min(size, stop - first), [&](const Block& block) {
            steps.to_points(block, 0, block.count);
            steps.multiply(block, 0, kWinogradPoints, to + number * values);
          });
        }
      }
    });
    add_parts(to, parts, values);
  } else {
    const std::int64_t size = block_of_tiles(products, tiles.count(), tile_bytes, kSharedBytes, 1);
    sums = at::zeros({values}, at::kFloat);
    float* to = sums.mutable_data_ptr<float>();
    for (std::int64_t first = 0; first < tiles.count(); first += size) {
      with_tiles(first, std::min(size, tiles.count() - first), [&](const Block& block) {
        parallel_for(0, block.count, 1, [&](std::int64_t a, std::int64_t b) { steps.to_points(block, a, b); });
        parallel_for(0, kWinogradPoints, 1, [&](std::int64_t a, std::int64_t b) { steps.multiply(block, a, b, to); });
      });
    }
  }
  const float* from = sums.const_data_ptr<float>();
  const std::int64_t taps = shape.taps();
  parallel_for(0, outputs, 1, [&](std::int64_t begin, std::int64_t end) {
    std::array<float*, 25> pointers;
    for (std::int64_t output = begin; output < end; ++output) {
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        pointers[static_cast<std::size_t>(tap)] = weight_gradient + (output * taps + tap) * inputs;
      }
      tiles.transforms().weight_gradient(from + output * inputs, outputs * inputs, inputs, pointers.data());
    }
  });
}

}  // namespace lockstep::kernels::cpu
