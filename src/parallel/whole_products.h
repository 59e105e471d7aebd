#pragma once
#include <optional>
#include <vector>

#include <c10/core/StorageImpl.h>
#include <c10/util/intrusive_ptr.h>

#include "factor_sharing.h"

namespace lockstep::parallel {

// Each rank multiplies the factors of all, so that no product travels: for networks.
//
//   1. In backward each rank gathers the factors, and their product is the average of all ranks' gradients. But where
//      some rank has a gradient already that this one is added to, or a hook on the weight that is to see the rank's
//      own, each multiplies its own factors alone, and the result is reduced like others.
//   2. A gradient that is nothing but the product of all need not be reduced. One with more in it, because its weight
//      was used a second time, is reduced, which is right too: what is equal everywhere is its own average.
class WholeProducts : public FactorSharing {
 public:
  WholeProducts(Group group, const std::vector<at::Tensor>& parameters, BucketFlow& flow, bool check);

  void begin() override;
  BucketFlow::Completion completion(std::size_t parameter, const at::Tensor& incoming, bool is_alone) override;

 protected:
  bool suits(std::size_t weight, const Samples& samples) override;
  kernels::LinearFactors exchange(std::size_t weight, const kernels::LinearFactors& own, at::Tensor& result) override;

 private:
  struct Product {
    std::optional<c10::weak_intrusive_ptr<c10::StorageImpl>> memory;  // of this step
    std::int64_t version = 0;
  };
  std::vector<Product> products_;  // one for each parameter
};

}  // namespace lockstep::parallel
