// What the engine for copies of tiles is told of a matrix, or of pictures.
#pragma once
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>

namespace lockstep::kernels::cuda {

// A matrix of bfloat16 whose rows lie one after the other, in tiles of kSwizzledBytes of columns and `tile_rows` rows,
// which have their chunks in shared memory as swizzled() says. Rows are multiples of 16 bytes.
cudaError_t map_matrix(CUtensorMap& map, const void* values, std::int64_t rows, int columns, int tile_rows);

// Pictures of bfloat16 whose channels lie side by side, in tiles of places with kPlaceBytes of channels each, which lie
// in shared memory row by row, as such a matrix. kPlaceBytes is kSwizzledBytes or half of that.
struct PictureSizes {
  int pictures = 0, rows = 0, columns = 0, channels = 0;
};
template <int kPlaceBytes = 128>
cudaError_t map_pictures(CUtensorMap& map, const void* values, const PictureSizes& sizes, int tile_rows,
                         int tile_columns);

// The same in tiles that have one row of several pictures: these lie on top of one another, place by place.
cudaError_t map_stacked_rows(CUtensorMap& map, const void* values, const PictureSizes& sizes, int tile_pictures);

}  // namespace lockstep::kernels::cuda
