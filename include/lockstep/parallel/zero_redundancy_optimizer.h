// ZeRO, stage 1: each rank keeps the optimizer's state of a part of the parameters.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <torch/optim/optimizer.h>

#include <lockstep/comm/group.h>
#include <lockstep/parallel/named_tensors.h>

namespace lockstep {

// Divides the parameters over the ranks of a group, whole and balanced by size. On each rank an optimizer of any kind
// steps with that rank's share alone, and then every rank gets the new parameters from their owners. The result is that
// of the same optimizer with all parameters on every rank; the state takes one part in size() of its memory.
//
//   lockstep::ZeroRedundancyOptimizer zero(model->named_parameters(), [](auto share) {
//     return std::make_unique<torch::optim::Adam>(std::move(share), torch::optim::AdamOptions(1e-3)); }, world);
//
// Gradients must have been averaged when it steps: by a DistributedOptimizer round it, by DistributedDataParallel, or
// by hand. It is an optimizer itself, with all parameters in its groups; options that are changed there, such as the
// learning rate, hold from the next step on. Every rank makes it, with the same parameters and groups.
class ZeroRedundancyOptimizer : public torch::optim::Optimizer {
 public:
  // Makes the optimizer for a rank's share of each group, which may be empty. It is called on every rank, with the same
  // options.
  using Groups = std::vector<torch::optim::OptimizerParamGroup>;
  using Factory = std::function<std::unique_ptr<torch::optim::Optimizer>(const Groups& share)>;

  // Collective. Throws UsageError, on every rank, when there are no parameters, when a parameter is in no group, or
  // when the ranks' lists differ. Without groups, all parameters are in one.
  ZeroRedundancyOptimizer(const NamedTensors& parameters, Factory make, const Group& group);
  ZeroRedundancyOptimizer(const NamedTensors& parameters, const Groups& groups, Factory make, const Group& group);
  ~ZeroRedundancyOptimizer() override;

  // Collective. The closure, if there is one, is called first, once.
  at::Tensor step(LossClosure closure = nullptr) override;

  // This rank's optimizer, which has its share of the parameters and their state, group by group.
  torch::optim::Optimizer& local();

  // The bytes that this rank's part of the state takes when it is saved.
  std::int64_t local_state_bytes() const;

  // An optimizer of the same kind with all parameters, and no state: what torch::load can load into.
  std::unique_ptr<torch::optim::Optimizer> make_whole() const;

  // Collective. On `root` an optimizer of the same kind that has all parameters and the state of all ranks, to be saved
  // as any other; elsewhere nothing.
  std::unique_ptr<torch::optim::Optimizer> consolidate(int root = 0) const;

  // Collective. The reverse: gives the state and options of `whole`, which `root` alone has to give, to their owners.
  void distribute(const torch::optim::Optimizer* whole, int root = 0);

  // Refuse: one rank's part is not the state. Use consolidate and distribute.
  void save(torch::serialize::OutputArchive& archive) const override;
  void load(torch::serialize::InputArchive& archive) override;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace lockstep
