#include "winograd_parts.h"

#include <ATen/ops/empty.h>

namespace lockstep::kernels {

WinogradBlock make_block(const ConvShape& shape, std::int64_t first, std::int64_t count) {
  WinogradBlock block{.first = first,
                      .count = count,
                      .in_values = at::empty({kWinogradPoints * count * shape.inputs}, at::kFloat),
                      .out_values = at::empty({kWinogradPoints * count * shape.outputs}, at::kFloat)};
  block.in = block.in_values.mutable_data_ptr<float>();
  block.out = block.out_values.mutable_data_ptr<float>();
  return block;
}

std::int64_t tiles_of_block(const ConvShape& shape, std::int64_t bytes, std::int64_t most) {
  const std::int64_t rows = products()->row_tile;
  const std::int64_t row_bytes =
      rows * kWinogradPoints * (shape.inputs + shape.outputs) * static_cast<std::int64_t>(sizeof(float));
  return rows * std::min(std::max<std::int64_t>(1, bytes / row_bytes), divide_up(most, rows));
}

Work winograd_work(const ConvShape& shape) {
  const std::int64_t weights = shape.inputs * shape.outputs;
  const std::int64_t floats = shape.batch * (shape.height * shape.width * shape.inputs +
                                             shape.out_height() * shape.out_width() * shape.outputs) +
                              shape.taps() * weights;
  return {.flop = 2.0 * static_cast<double>(kWinogradPoints * WinogradTiles(shape).count() * weights),
          .bytes = static_cast<double>(floats) * sizeof(float)};
}

}  // namespace lockstep::kernels
