#include "matrix_map.h"

#include <cudaTypedefs.h>

namespace lockstep::kernels::cuda {
namespace {

// It is the driver's, which is not linked.
PFN_cuTensorMapEncodeTiled_v12000 encoder() {
  static const auto found = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult result{};
    const cudaError_t status =
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &result);
    if (status != cudaSuccess || result != cudaDriverEntryPointSuccess) function = nullptr;
    return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
  }();
  return found;
}

// The first dimension is the one whose values lie side by side; `strides`, in values, and `tile` have all but that.
template <int kRowBytes, int kDimensions>
cudaError_t map_tiles(CUtensorMap& map, const void* values, const cuuint64_t (&sizes)[kDimensions],
                      const std::int64_t (&strides)[kDimensions - 1], const int (&tile)[kDimensions - 1]) {
  static_assert(kRowBytes == 128 || kRowBytes == 64);
  constexpr CUtensorMapSwizzle kSwizzle = kRowBytes == 128 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B;
  const auto encode = encoder();
  if (encode == nullptr) return cudaErrorCallRequiresNewerDriver;
  cuuint64_t bytes[kDimensions - 1];
  cuuint32_t box[kDimensions] = {kRowBytes / 2}, steps[kDimensions] = {1};
  for (int i = 0; i < kDimensions - 1; ++i) {
    bytes[i] = static_cast<cuuint64_t>(strides[i]) * 2;
    box[i + 1] = static_cast<cuuint32_t>(tile[i]);
    steps[i + 1] = 1;
  }
  const CUresult result = encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, kDimensions, const_cast<void*>(values), sizes,
                                 bytes, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, kSwizzle,
                                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

cuuint64_t size(int of) {
  return static_cast<cuuint64_t>(of);
}

}  // namespace

cudaError_t map_matrix(CUtensorMap& map, const void* values, std::int64_t rows, int columns, int tile_rows) {
  return map_tiles<128, 2>(map, values, {size(columns), static_cast<cuuint64_t>(rows)}, {columns}, {tile_rows});
}

template <int kPlaceBytes>
cudaError_t map_pictures(CUtensorMap& map, const void* values, const PictureSizes& sizes, int tile_rows,
                         int tile_columns) {
  const std::int64_t row = std::int64_t{sizes.channels} * sizes.columns;
  return map_tiles<kPlaceBytes, 4>(map, values,
                                   {size(sizes.channels), size(sizes.columns), size(sizes.rows), size(sizes.pictures)},
                                   {sizes.channels, row, row * sizes.rows}, {tile_columns, tile_rows, 1});
}

cudaError_t map_stacked_rows(CUtensorMap& map, const void* values, const PictureSizes& sizes, int tile_pictures) {
  const std::int64_t row = std::int64_t{sizes.channels} * sizes.columns;
  return map_tiles<128, 4>(map, values,
                           {size(sizes.channels), size(sizes.pictures), size(sizes.columns), size(sizes.rows)},
                           {row * sizes.rows, sizes.channels, row}, {tile_pictures, sizes.columns, 1});
}

template cudaError_t map_pictures<128>(CUtensorMap&, const void*, const PictureSizes&, int, int);
template cudaError_t map_pictures<64>(CUtensorMap&, const void*, const PictureSizes&, int, int);

}  // namespace lockstep::kernels::cuda
