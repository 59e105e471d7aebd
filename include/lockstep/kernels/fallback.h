// What the fused engine leaves to libtorch on a GPU.
#pragma once
#include <string>

#include <ATen/core/Tensor.h>

namespace lockstep::kernels {

// Says once for each operation of this process that libtorch's is taken for such an input. Says nothing of inputs on a
// CPU, for other engines, and while a graph is traced.
void tell_fallback(const std::string& operation, const at::Tensor& input);

}  // namespace lockstep::kernels
