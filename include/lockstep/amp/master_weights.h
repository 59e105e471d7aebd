// What an optimizer changes where the model's own parameters have 16 bits.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>
#include <torch/ordered_dict.h>

#include <lockstep/amp/precision.h>

namespace lockstep::amp {

// A copy in fp32 of each parameter of 16 bits of a module, where the precision asks for it; any other parameter stands
// for itself. Small changes, which 16 bits would round away, add up in the copies. The model's gradients stay in 16
// bits, also on their way between ranks.
//
// Make it when the model's parameters are what training begins with: after prepare(), and after what loads them or
// broadcasts them to other ranks. Give parameters() to the optimizer and the object to the GradScaler, which moves
// gradients and results to and fro. Clear gradients by the module's zero_grad(): the copies' are written anew for each
// step.
//
// Cheap to copy; copies share the master weights.
class MasterWeights {
 public:
  MasterWeights(const torch::nn::Module& module, const Precision& precision);

  // One for each of module.parameters(), in their order: where the module has one tensor under several names, the same
  // again. A torch::optim::Optimizer steps what it is given twice two times; give it named_parameters().values() then.
  const std::vector<at::Tensor>& parameters() const;
  // With their names in the module, each tensor once, under the first.
  torch::OrderedDict<std::string, at::Tensor> named_parameters() const;

  // Whether there is any copy.
  bool has_copies() const;

  // The gradients of the module, in fp32, become those of the copies that `optimizer` has, in one call for all of them.
  void take_gradients(const torch::optim::Optimizer& optimizer) const;
  // The copies that `optimizer` has, rounded, become the module's parameters, likewise.
  void write_back(const torch::optim::Optimizer& optimizer) const;

  // The copies by the names of their parameters, for checkpoints; empty where there are none. They are shared, not
  // cloned.
  torch::OrderedDict<std::string, at::Tensor> state() const;
  // Takes over the values and writes them to the module too. Throws UsageError, and changes nothing, unless `state` has
  // exactly the names and shapes of state().
  void load_state(const torch::OrderedDict<std::string, at::Tensor>& state) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace lockstep::amp
