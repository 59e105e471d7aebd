// Rows of floats that a core reads side by side. Rows a multiple of a page apart fall into the same lines of its first
// cache, which has room for eight.
#pragma once
#include <ATen/ops/empty.h>

namespace lockstep::kernels {

inline constexpr std::int64_t kRowGap = 16;  // floats between the end of a row and the next, so that rows do not

// Whether rows so many floats apart do.
inline bool would_collide(std::int64_t stride) {
  constexpr std::int64_t kPageFloats = 1024;
  return stride % kPageFloats == 0;
}

// [row][column], with a gap between rows.
inline at::Tensor empty_rows_with_gap(std::int64_t rows, std::int64_t columns, const at::TensorOptions& options) {
  return at::empty({rows, columns + kRowGap}, options).narrow(1, 0, columns);
}

}  // namespace lockstep::kernels
