// Products of whole matrices, on all threads.
#pragma once
#include "packed_matrix.h"

namespace lockstep::kernels {

// A dense matrix, or some of its columns.
template <typename Float>
struct MatrixView {
  Float* values = nullptr;
  std::int64_t rows = 0, columns = 0;
  std::int64_t stride = 0;  // from row to row

  Float* row(std::int64_t number) const { return values + number * stride; }
};

MatrixView<const float> view(const at::Tensor& matrix);
MatrixView<float> writable(const at::Tensor& matrix);

// c = a * b, or added to c. `b` has one tap.
void multiply(const MatrixView<const float>& a, const PackedMatrix& b, const MatrixView<float>& c, bool accumulate);

at::Tensor column_sums(const MatrixView<const float>& matrix);

// c = transpose of a, times b.
void multiply_transposed(const MatrixView<const float>& a, const MatrixView<const float>& b,
                         const MatrixView<float>& c);

}  // namespace lockstep::kernels
