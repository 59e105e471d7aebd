#pragma once
#include <map>
#include <vector>

#include <lockstep/comm/group.h>
#include <lockstep/kernels/linear_factors.h>

#include "bucket_flow.h"

namespace lockstep::parallel {

// The weight gradients of large linear layers from the factors of all ranks.
//
//   1. When a layer is first asked about, ranks tell one another how many samples they have, which kernels, and whether
//      somebody wants to see this rank's own gradient by a hook. Where samples are few, and kernels the same, so that
//      all ranks compute the same bits, its factors are shared in this and all later steps.
//   2. In backward each rank gathers them, and their product is the average of all ranks' gradients.
//   3. A gradient that is nothing but this product need not be reduced. One with more in it (its weight was used a
//      second time, or gradients add up) is reduced as all others are, which is right too: what is equal everywhere is
//      its own average.
class FactorSharing {
 public:
  // `flow` is told about exchanges, and with `check` also about factors that are not finite.
  FactorSharing(Group group, const std::vector<at::Tensor>& parameters, BucketFlow& flow, bool check);

  // What was made before belongs to an earlier step.
  void begin();

  // Collective when it is asked about a parameter for the first time.
  kernels::FactorExchange find(const at::Tensor& weight, std::int64_t samples);

  // Whether `incoming`, which came to the accumulator of this parameter's gradient, is just what the exchange led to.
  bool made(std::size_t parameter, const at::Tensor& incoming) const;

 private:
  struct Weight {
    at::Tensor parameter;
    std::optional<bool> shared;    // once it is agreed
    const void* result = nullptr;  // where this step's product is, and its version then
    std::int64_t version = 0;
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
