// Batch normalization on the CPU and what follows it, as one step.
#pragma once
#include <ATen/core/Tensor.h>

namespace lockstep::kernels {

// What one forward pass normalizes with. Tensors that a module does not have are undefined.
struct BatchNormState {
  at::Tensor weight, bias;
  at::Tensor running_mean, running_var;  // updated in place while training
  double momentum = 0;                   // the weight of this batch in them
  double eps = 0;
};

struct NormAct {
  at::Tensor shortcut = {};  // added to what was normalized; undefined: nothing is
  bool relu = false;         // after that
  bool by_batch = true;      // by the batch's own statistics; false: by the running ones
};

// Whether batch_norm_act takes these: floats on a CPU with AVX2, channels last and dense (NHWC, NDHWC, or two
// dimensions), with weight and bias. Not while a graph is traced, nor for gradients of what running statistics
// normalize.
bool can_batch_norm_act(const at::Tensor& input, const BatchNormState& state, const NormAct& options);

// As at::batch_norm, then the sum with the shortcut, then the ReLU. Differentiable once; a second time throws
// UsageError. Results do not depend on the number of threads.
at::Tensor batch_norm_act(const at::Tensor& input, const BatchNormState& state, const NormAct& options);

}  // namespace lockstep::kernels
