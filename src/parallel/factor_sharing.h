#pragma once
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <c10/core/StorageImpl.h>
#include <c10/util/intrusive_ptr.h>

#include <lockstep/comm/group.h>
#include <lockstep/kernels/linear_factors.h>

#include "bucket_flow.h"

namespace lockstep::parallel {

// The weight gradients of large linear layers from the factors of all ranks.
//
//   1. When a layer is first asked about, ranks tell one another how many samples they have, and which kernels. Where
//      samples are few, and kernels the same, so that all ranks compute the same bits, its factors are gathered in this
//      and all later steps.
//   2. In backward each rank gathers them, and their product is the average of all ranks' gradients. But where some
//      rank has a gradient already that this one is added to, or a hook on the weight that is to see the rank's own,
//      each multiplies its own factors alone, and the result is reduced like others.
//   3. A gradient that is nothing but the product of all need not be reduced. One with more in it, because its weight
//      was used a second time, is reduced, which is right too: what is equal everywhere is its own average.
class FactorSharing : public std::enable_shared_from_this<FactorSharing> {
 public:
  // `flow` is told about exchanges, and with `check` also about factors that are not finite. It lives longer.
  FactorSharing(Group group, const std::vector<at::Tensor>& parameters, BucketFlow& flow, bool check);

  // What was made before belongs to an earlier step.
  void begin();

  // Collective when it is asked about a parameter for the first time. An exchange that outlives this object gives back
  // what it gets.
  kernels::FactorExchange find(const at::Tensor& weight, std::int64_t samples);

  // Whether `incoming`, which came to the accumulator of this parameter's gradient, is just the product of all factors.
  bool made(std::size_t parameter, const at::Tensor& incoming) const;

 private:
  struct Weight {
    at::Tensor parameter;
    std::optional<bool> shared;                                        // once it is agreed
    std::optional<c10::weak_intrusive_ptr<c10::StorageImpl>> product;  // of this step
    std::int64_t version = 0;                                          // of the product
  };
  bool agree(const at::Tensor& weight, std::int64_t samples) const;
  kernels::LinearFactors exchange(Weight& weight, const kernels::LinearFactors& own, const at::Tensor& result);

  Group group_;
  BucketFlow& flow_;
  bool check_;
  std::vector<Weight> weights_;  // one for each parameter
  std::map<const void*, std::size_t> numbers_;
};

}  // namespace lockstep::parallel
