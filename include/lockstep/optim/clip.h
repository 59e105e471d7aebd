// Clipping of gradients, each once, also of a parameter that is given several times. Nothing here waits for the device,
// unless it says so.
#pragma once
#include <vector>

#include <ATen/core/Tensor.h>

namespace lockstep::optim {

struct ClipNormOptions {
  double norm_type = 2;             // of the vector of all gradients; infinity: the largest value
  bool error_if_nonfinite = false;  // throw RuntimeError for a norm that is not finite; waits for the device
};

// torch.nn.utils.clip_grad_norm_: multiplies the gradients by max_norm / (norm + 1e-6) if that is below 1, and returns
// the norm that they had, on the first gradient's device. Devices and types may be mixed. Gradients whose norm is not
// finite become what the product makes of them. Parameters without a gradient do not count. Unlike Python's, the norm
// of 16-bit gradients, and the factor, are in float32 also where no wider gradient is among them.
//
// Throws UsageError for a sparse gradient, and for a max_norm or norm_type that is not positive.
at::Tensor clip_grad_norm(const std::vector<at::Tensor>& parameters, double max_norm,
                          const ClipNormOptions& options = {});

// The norm of all gradients, in float32 or wider, on the first gradient's device: what clip_grad_norm() compares.
at::Tensor gradient_norm(const std::vector<at::Tensor>& parameters, double norm_type = 2);

// torch.nn.utils.clip_grad_value_: brings the values of all gradients into [-clip_value, clip_value]. A NaN stays one.
// Throws UsageError for a sparse gradient, and for a clip_value that is not positive.
void clip_grad_value(const std::vector<at::Tensor>& parameters, double clip_value);

}  // namespace lockstep::optim
