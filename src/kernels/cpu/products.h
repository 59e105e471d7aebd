// Sums of products of rows and matrices: what convolutions and linear layers are made of.
#pragma once
#include <cstdint>

namespace lockstep::kernels::cpu {

// c[m][column + j] = start + sum over t and k of a[t][m][k] * b[t][k][j], for the columns j of one panel.
//
// Rows of `a` are wherever the pointers say, each tap t with its own: so are the pixels under one weight of a
// convolution, and a row of zeros stands where there is none.
struct RowProduct {
  const float* const* a = nullptr;  // a[t * tap_stride + m], each moved on by `offset` values
  std::int64_t tap_stride = 0, offset = 0;
  std::int64_t rows = 0, taps = 1, depth = 0;
  const float* b = nullptr;  // [t][k][panel], with a step from tap to tap
  std::int64_t b_tap_stride = 0;
  float* const* c = nullptr;
  std::int64_t column = 0, columns = 0;  // the first in c, and how many: not more than a panel has
  bool accumulate = false;               // the start is what c has
  const float* bias = nullptr;           // else these, or zeros
  bool relu = false;                     // of the sum
};

// c[i][j] += sum over m of a[m][a_column + i] * b[m][b_column + j].
struct OuterProduct {
  const float* const* a = nullptr;
  const float* const* b = nullptr;
  std::int64_t rows = 0;  // m
  std::int64_t a_column = 0, a_columns = 0;
  std::int64_t b_column = 0, b_columns = 0;
  float* c = nullptr;
  std::int64_t c_stride = 0;
};

// One level's.
struct Products {
  std::int64_t panel;     // columns that a packed matrix has side by side
  std::int64_t row_tile;  // rows that are computed at once: best in multiples of it
  void (*multiply_rows)(const RowProduct&);
  void (*add_outer)(const OuterProduct&);
};

extern const Products kProductsAvx2, kProductsAvx512;

// For this CPU; nullptr where it has not even AVX2.
const Products* products();

}  // namespace lockstep::kernels::cpu
