// Weights in the type that autocast computes in, for a whole model at once.
#pragma once
#include <memory>

#include <ATen/core/Tensor.h>

namespace lockstep::kernels {

// Autocast copies each weight by a kernel of its own, and its gradient back by another. So does this in the pass that
// first asks for it by cast_of(), and later by a few kernels for all: forward when a pass begins, backward as soon as
// the gradients of a group of weights are there, which is early enough for DistributedDataParallel to send them
// meanwhile. On GPUs, with the fused engine, where autocast is on; elsewhere it does nothing.
class CastTogether {
 public:
  CastTogether();
  ~CastTogether();
  CastTogether(const CastTogether&) = delete;
  CastTogether& operator=(const CastTogether&) = delete;

  // A forward pass of this thread. One at a time.
  class Pass {
   public:
    explicit Pass(CastTogether& casts);
    ~Pass();
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
  };

 private:
  friend at::Tensor cast_of(const at::Tensor& parameter);
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

// The copy of this thread's pass; without one, the parameter itself, which autocast then casts where it is used.
at::Tensor cast_of(const at::Tensor& parameter);

}  // namespace lockstep::kernels
