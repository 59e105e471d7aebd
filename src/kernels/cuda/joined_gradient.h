// What the two readers of a result of pointwise_norm_act() do together in the backward pass.
#pragma once
#include "second_gradient.h"

namespace lockstep::kernels {

// The first convolution's kernel can add the shortcut's gradient to its own, let by what the ReLU let by, and take the
// sums that the normalization needs: passes over memory that are saved.
struct JoinedGradient : SecondGradient {
  at::Tensor positive;           // from the forward pass: the ReLU's bits; undefined: there was no ReLU
  at::Tensor whole, whole_sums;  // that of both results before the ReLU, where the first reader has made it
  at::Tensor known, known_sums;  // a gradient of the first result whose sums its reader knows
};

// That of the node which made `tensor` as its result number `result`; null where another one did.
c10::intrusive_ptr<JoinedGradient> joined_gradient_of(const at::Tensor& tensor, std::uint32_t result);

// Whether joined_pointwise() takes these: the first reader, a convolution of stride 1.
bool can_joined_pointwise(const at::Tensor& input, const at::Tensor& weight);
at::Tensor joined_pointwise(const at::Tensor& input, const at::Tensor& weight);

}  // namespace lockstep::kernels
