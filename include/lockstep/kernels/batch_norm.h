// Batch normalization and what follows it, as one step.
#pragma once
#include <ATen/core/Tensor.h>

namespace lockstep::kernels {

// What one forward pass normalizes with. Tensors that a module does not have are undefined.
struct BatchNormState {
  at::Tensor weight, bias;
  at::Tensor running_mean, running_var;  // updated in place while training
  double momentum = 0;                   // the weight of this batch in them
  double eps = 0;
  at::Tensor batches = {};  // one more while training, where it is defined
};

struct NormAct {
  // Of each channel, added to the input before. The batch's own statistics take it out again, all but its part in the
  // running mean, and its gradient is 0. Not for running statistics.
  at::Tensor input_bias = {};
  at::Tensor shortcut = {};  // added to what was normalized; undefined: nothing is
  bool relu = false;         // after that
  bool by_batch = true;      // by the batch's own statistics; false: by the running ones
};

// Whether batch_norm_act takes these: channels last and dense (NHWC, NDHWC, or two dimensions), with weight and bias;
// floats or bfloat16 on a CPU with AVX2, without an input bias, or floats, bfloat16 and half on a GPU, in channels that
// fill vectors of 16 bytes, with parameters and statistics that are floats. Not while a graph is traced, nor for
// gradients of what running statistics normalize.
bool can_batch_norm_act(const at::Tensor& input, const BatchNormState& state, const NormAct& options);

// As at::batch_norm, then the sum with the shortcut, then the ReLU. Differentiable once; a second time throws
// UsageError. Results do not depend on the number of threads.
at::Tensor batch_norm_act(const at::Tensor& input, const BatchNormState& state, const NormAct& options);

// A result that is read in two places, as a residual block's is. For gradients the two are one memory, but two results
// to autograd: the backward pass gets both gradients and adds them in passing. Else they are the same tensor. Neither
// may be changed in place.
struct ForTwo {
  at::Tensor first, second;
};
ForTwo batch_norm_act_for_two(const at::Tensor& input, const BatchNormState& state, const NormAct& options);

}  // namespace lockstep::kernels
