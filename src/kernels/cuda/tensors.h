// Tensors as the kernels for GPUs take them.
#pragma once
#include <ATen/core/Tensor.h>

#include "kernels.h"

namespace lockstep::kernels::cuda {

// Those that take tensors on `device`; null where there are none.
const Kernels* kernels_on(at::Device device);

bool has_taken_type(const at::Tensor& tensor);  // floats, bfloat16 or half
bool is_aligned(const at::Tensor& tensor);      // to the size of a vector

// Whether they take it: floats, bfloat16 or half, dense, aligned, the channels last in memory (NHWC, NDHWC, or two
// dimensions) and a multiple of a vector's width.
bool is_taken(const at::Tensor& tensor);
// Whether they take it as parameters or statistics of channels.
bool is_of_channels(const at::Tensor& tensor, const at::Tensor& input);
// Of so many channels, on the same device as `other`.
bool is_of_channels(const at::Tensor& tensor, const at::Tensor& other, std::int64_t channels);

// Null for a tensor that is not defined.
float* floats_of(const at::Tensor& tensor);
std::int64_t* longs_of(const at::Tensor& tensor);
const std::uint8_t* bits_of(const at::Tensor& tensor);

Number number_of(const at::Tensor& tensor);
Rows rows_of(const at::Tensor& tensor);

// Takes `gradient` out of its place, in the layout of `like`, which is_taken; copies it if it has another.
at::Tensor take_gradient(at::Tensor& gradient, const at::Tensor& like);

}  // namespace lockstep::kernels::cuda
