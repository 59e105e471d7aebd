// What the engine for copies of tiles is told of a matrix.
#pragma once
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>

namespace lockstep::kernels::cuda {

// A matrix of bfloat16 whose rows lie one after the other, in tiles of kSwizzledBytes of columns and `tile_rows` rows,
// which have their chunks in shared memory as swizzled() says. Rows are multiples of 16 bytes.
cudaError_t map_matrix(CUtensorMap& map, const void* values, std::int64_t rows, int columns, int tile_rows);

}  // namespace lockstep::kernels::cuda
