// The gradients of the weights of convolutions with a column of blocks (ColumnConvolution).
#include "weight_sums.cuh"

namespace lockstep::kernels::cuda {
namespace {

// A group of threads has some of a tile's rows.
struct Column {
  static constexpr int kTileRows = kWindowTileRows, kTileColumns = kColumnTileColumns, kMargin = 0;
  static constexpr int kInputRows = kTileRows + kMostColumnRows - 1, kInputColumns = kTileColumns;
  static constexpr int kInputs = kColumnChannels, kPlaceBytes = 2 * kInputs;
  static constexpr int kStages = 3, kGroups = 2, kOutputs = kMostColumnRows * kInputs, kMoreRegisters = 0;

  // The blocks of the window's second row begin one row after those of its first one, so that one product, as many
  // times as wide, has all rows. Those that the window has not are computed too, and nobody looks at them.
  __device__ static void multiply(float (&sums)[kOutputs / 2], const uint4* gradient, const uint4* input, int group) {
    constexpr int kStep = 16, kPlaces = kTileRows / kGroups * kTileColumns;  // of one product; of a group
    constexpr int kGradientChunks = kSwizzledBytes / kVectorBytes, kInputChunks = kPlaceBytes / kVectorBytes;
    const std::uint64_t outputs = matrix_at(gradient) + static_cast<unsigned>(group * kPlaces * kGradientChunks);
    const std::uint64_t inputs = matrix_at<kPlaceBytes>(input, kTileColumns * kPlaceBytes) +
                                 static_cast<unsigned>(group * kPlaces * kInputChunks);
#pragma unroll
    for (int place = 0; place < kPlaces; place += kStep) {
      add_product<kOutputs, true, true>(sums, outputs + place * kGradientChunks, inputs + place * kInputChunks);
    }
  }
};

struct ColumnResults {
  static constexpr int kRegisters = Column::kOutputs / 2;
  // [output][row of the window][channel]; `size` are the rows.
  __device__ static int index(const PartialSums& work, int /*pair*/, int row, int column) {
    const int window_row = column / kColumnChannels;
    if (window_row >= work.size) return -1;
    return (row * work.size + window_row) * kColumnChannels + column % kColumnChannels;
  }
};

SumsSizes sizes_of(const ColumnGradient& work) {
  return {{work.samples, work.height + work.rows - 1, work.width, kColumnChannels},
          {work.samples, work.height, work.width, kWindowChannels}};
}

}  // namespace

std::int64_t column_partials(const ColumnGradient& work, const Device& device) {
  return partials_of<Column>(sizes_of(work), device);
}

cudaError_t launch_column_gradient(const ColumnGradient& work, const Launch& launch) {
  const SumsSizes sizes = sizes_of(work);
  const cudaError_t status = sum_up<Column>(work.x, work.gradient, sizes, launch);
  if (status != cudaSuccess) return status;
  return add_up<ColumnResults>({.partials = launch.partials,
                                .pairs = 1,
                                .splits = splits_of<Column>(sizes, launch.device) * Column::kGroups,
                                .size = work.rows,
                                .sums = static_cast<__nv_bfloat16*>(work.weight_gradient)},
                               launch);
}

}  // namespace lockstep::kernels::cuda
