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

}  // namespace

cudaError_t map_matrix(CUtensorMap& map, const void* values, std::int64_t rows, int columns, int tile_rows) {
  constexpr cuuint32_t kTileColumns = 64;
  const auto encode = encoder();
  if (encode == nullptr) return cudaErrorCallRequiresNewerDriver;
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
  const cuuint64_t row_bytes[] = {static_cast<cuuint64_t>(columns) * 2};
  const cuuint32_t tile[] = {kTileColumns, static_cast<cuuint32_t>(tile_rows)}, steps[] = {1, 1};
  const CUresult result = encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<void*>(values), sizes, row_bytes,
                                 tile, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace lockstep::kernels::cuda
