// What a batch normalization with a ReLU and the convolution that reads its result do together in the backward pass.
#pragma once
#include <optional>

#include "second_gradient.h"

namespace lockstep::kernels {

// The convolution's kernel can let by what the ReLU let by of the gradient that it makes, add that of a second reader
// before, and take the sums that the normalization needs: a pass over memory that is saved.
struct PassedGradient : SecondGradient {
  at::Tensor whole, sums;  // that of both results as far as it passes, where the convolution has made it
};

// That of the node which made `tensor` as its result number `result`; null where another one did.
c10::intrusive_ptr<PassedGradient> passed_gradient_of(const at::Tensor& tensor, std::uint32_t result);

// Of a normalization whose first result is read; nothing for tensors of others.
struct NormalizedInput {
  at::Tensor values, kept;  // what was normalized, and KeptChannels
  at::Tensor positive;      // the ReLU's bits; undefined: found from the values
  c10::intrusive_ptr<PassedGradient> gradient;
};
std::optional<NormalizedInput> normalized_input(const at::Tensor& result);

}  // namespace lockstep::kernels
