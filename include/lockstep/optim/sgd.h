#pragma once
#include <torch/optim/sgd.h>

namespace lockstep::optim {

// torch::optim::SGD by ATen's fused kernel, one call for all parameters of a type and device in a group. The same
// options, groups, state and files, and the same results up to rounding.
//
// A gradient whose memory is laid out in another way than its parameter's is copied first; a parameter that the fused
// kernel cannot take (one with gaps, a complex one, one of another device than CPU and CUDA) is updated by itself.
class Sgd : public torch::optim::SGD {
 public:
  using SGD::SGD;
  at::Tensor step(LossClosure closure = nullptr) override;

 private:
  at::Tensor momentum_buffer(const at::Tensor& parameter) const;  // undefined before its first step
  void keep_momentum_buffer(const at::Tensor& parameter, at::Tensor buffer);
};

}  // namespace lockstep::optim
