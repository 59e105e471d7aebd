#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <lockstep/comm/group.h>
#include <lockstep/kernels/linear_factors.h>

#include "bucket_flow.h"

namespace lockstep::parallel {

// The weight gradients of large linear layers from the factors of all ranks. When a layer is first asked about, ranks
// tell one another how many samples they have, and which kernels. Where it is worth it, and kernels are the same,
// factors are shared in this and all later steps, in a way that depends on what ranks have in common.
class FactorSharing : public std::enable_shared_from_this<FactorSharing> {
 public:
  // `flow` is told about exchanges, and with `check` also about factors that are not finite. It lives longer.
  FactorSharing(Group group, const std::vector<at::Tensor>& parameters, BucketFlow& flow, bool check);
  virtual ~FactorSharing() = default;

  // What was made before belongs to an earlier step.
  virtual void begin() = 0;

  // Collective when it is asked about a parameter for the first time. An exchange that outlives this object gives back
  // what it gets.
  kernels::FactorExchange find(const at::Tensor& weight, std::int64_t samples);

  // How the average comes about of a gradient of this parameter that has come to its accumulator as `incoming`, other
  // than by a reduction; an empty function where it is reduced. `is_alone`: nothing was added to it there.
  virtual BucketFlow::Completion completion(std::size_t parameter, const at::Tensor& incoming, bool is_alone) = 0;

 protected:
  // Of all ranks, in one step.
  struct Samples {
    std::int64_t all = 0, most = 0;  // of a rank
  };

  // Whether it is worth it for this weight, whose factors are far smaller than their product. Collective.
  virtual bool suits(std::size_t weight, const Samples& samples) = 0;
  // A kernels::FactorExchange.
  virtual kernels::LinearFactors exchange(std::size_t weight, const kernels::LinearFactors& own,
                                          at::Tensor& result) = 0;

  const Group& group() const { return group_; }
  BucketFlow& flow() const { return flow_; }
  const at::Tensor& parameter(std::size_t weight) const { return weights_[weight].parameter; }

  // Calls what exchanges something, and counts its time.
  template <typename Exchange>
  void counted(const Exchange& exchange) {
    const auto begin = std::chrono::steady_clock::now();
    exchange();
    flow_.count_exchange(std::chrono::steady_clock::now() - begin);
  }

  // Gathers the factors of all ranks, counted; nothing where some rank says that they must not be shared in
  // this step. All call it, with undefined factors where they have none.
  std::optional<std::vector<at::Tensor>> gather(std::size_t weight, const kernels::LinearFactors& own, bool share);

  // Whether somebody but the reduction wants to have this rank's own gradient.
  bool is_looked_at(std::size_t weight) const;

 private:
  struct Weight {
    at::Tensor parameter;
    std::optional<bool> shared;  // once it is agreed
  };
  bool agree(std::size_t weight, std::int64_t samples);

  Group group_;
  BucketFlow& flow_;
  bool check_;
  std::vector<Weight> weights_;  // one for each parameter
  std::map<const void*, std::size_t> numbers_;
};

// What gather() gave, end to end; the product is the average of all ranks.
kernels::LinearFactors joined(const std::vector<at::Tensor>& gathered, std::int64_t outputs);

}  // namespace lockstep::parallel
