// Sums of products of rows and matrices: what convolutions and recurrent layers are made of.
#pragma once
#include <cstdint>

namespace lockstep::kernels {

// c[m][column + j] = sum over k of a[m][k] * b[k][j], for the columns j of one panel; or added to what c has. Rows are
// wherever the pointers say.
struct RowProduct {
  const float* const* a = nullptr;
  std::int64_t rows = 0, depth = 0;
  const float* b = nullptr;  // [k][panel]
  float* const* c = nullptr;
  std::int64_t column = 0, columns = 0;  // the first in c, and how many: not more than a panel has
  bool accumulate = false;
};

// c[i][j] = sum over m of a[m][i] * b[m][j]; or added to what c has.
struct OuterProduct {
  const float* a = nullptr;
  std::int64_t a_stride = 0;  // from row to row
  const float* b = nullptr;
  std::int64_t b_stride = 0;
  std::int64_t rows = 0;  // m
  std::int64_t a_columns = 0, b_columns = 0;
  float* c = nullptr;
  std::int64_t c_stride = 0;
  bool accumulate = true;
  // Rows that are brought from memory meanwhile, as far as a tile is wide: for whoever reads them next.
  const float* next = nullptr;
  std::int64_t next_stride = 0;
};

// Columns of a matrix, panel by panel: to[panel][m][j].
struct PanelCopy {
  const float* from = nullptr;
  std::int64_t from_stride = 0;
  std::int64_t rows = 0, columns = 0;
  float* to = nullptr;
  std::int64_t panel_stride = 0;
};

// At most row_tile columns of a matrix, side by side: to[m][j], rows tile_stride apart.
struct TileCopy {
  const float* from = nullptr;
  std::int64_t from_stride = 0;
  std::int64_t rows = 0, columns = 0;
  float* to = nullptr;
};

// Rows of a matrix as columns of a panel: to[k][j] is from[j][k].
struct TurnedCopy {
  const float* from = nullptr;
  std::int64_t from_stride = 0;
  std::int64_t rows = 0;  // at most a panel's columns
  std::int64_t columns = 0;
  float* to = nullptr;
};

constexpr std::int64_t kMostTileStride = 16;

// One level's.
struct Products {
  std::int64_t panel;        // columns that a packed matrix has side by side
  std::int64_t row_tile;     // rows that are computed at once: best in multiples of it
  std::int64_t tile_stride;  // at most kMostTileStride
  void (*multiply_rows)(const RowProduct&);
  void (*add_outer)(const OuterProduct&);
  void (*copy_panels)(const PanelCopy&);
  void (*copy_tile)(const TileCopy&);
  void (*copy_turned)(const TurnedCopy&);
};

extern const Products kProductsAvx2, kProductsAvx512;

// For this CPU; nullptr where it has not even AVX2.
const Products* products();

}  // namespace lockstep::kernels
