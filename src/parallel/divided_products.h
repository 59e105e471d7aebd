#pragma once
#include <functional>
#include <vector>

#include "factor_sharing.h"

namespace lockstep::parallel {

// Each rank multiplies the factors of all for a part of the rows, and writes these into the gradients of all ranks,
// which lie in memory that all see: for ranks on one host. Nobody multiplies more than alone, nothing is read that was
// written elsewhere, and no more is written.
//
//   1. In backward each rank keeps its factors, and the layer's part of the gradient is a zero that takes no memory. If
//      nothing else has been added to it when it comes to the weight's accumulator, it becomes the memory for the
//      gradient, which nobody looks at before the end of backward. Else, or where there is a gradient already that this
//      one is added to, or a hook on the weight, the rank multiplies its own factors.
//   2. At the end of backward ranks gather the factors. Where one of them must not share, each multiplies its own, if
//   it
//      has not done so, and the result is reduced like others.
//   3. Else each writes its rows, and they meet once more. What it wrote over was the gradient of the step before,
//   which
//      no rank needs any more when it has come to the end of the next backward.
class DividedProducts : public FactorSharing {
 public:
  // `completes` says whether a gradient that comes to its accumulator now will be asked for its completion().
  DividedProducts(Group group, const std::vector<at::Tensor>& parameters, BucketFlow& flow, bool check,
                  std::function<bool()> completes);

  void begin() override;
  BucketFlow::Completion completion(std::size_t parameter, const at::Tensor& incoming, bool is_alone) override;

 protected:
  bool suits(std::size_t weight, const Samples& samples) override;
  kernels::LinearFactors exchange(std::size_t weight, const kernels::LinearFactors& own, at::Tensor& result) override;

 private:
  struct Product {
    std::vector<at::Tensor> shared;  // of each rank
    bool is_asked = false;           // in this step
    kernels::LinearFactors own;      // which have not been multiplied
  };
  // What the accumulator gets for what has come to it.
  at::Tensor arrived(std::size_t weight, const at::Tensor& incoming);
  bool complete(std::size_t weight, const GradientBucket& bucket);

  std::function<bool()> completes_;
  at::Tensor zero_;
  std::vector<Product> products_;  // one for each parameter
};

}  // namespace lockstep::parallel
