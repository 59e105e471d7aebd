// The gradient of the second result of a node that gives one result twice, as the readers of both know it.
#pragma once
#include <torch/csrc/autograd/custom_function.h>

namespace lockstep::kernels {

// A residual block's output is read by the next block's first convolution and by its shortcut, whose gradient is known
// first.
struct SecondGradient : torch::CustomClassHolder {
  at::Tensor second;               // as soon as it is known
  std::int64_t second_stride = 1;  // above 1: it is of few places, and the node is given none (every_nth.h)
};

// That of the node which made `tensor` as its second result, with a ReLU over it; null where none did.
c10::intrusive_ptr<SecondGradient> second_gradient_of(const at::Tensor& tensor);

// For a gradient that a third reader brings.
[[noreturn]] void refuse_third_reader();

// A node that adds a shortcut remembers in its forward pass who made that, and tells them in its backward pass the
// shortcut's gradient and its sums: for each channel one or several.
void remember_shortcut(torch::autograd::AutogradContext* context, const at::Tensor& shortcut);
void tell_shortcut(torch::autograd::AutogradContext* context, const at::Tensor& gradient, const at::Tensor& sums);

}  // namespace lockstep::kernels
