// What an optimizer remembers, by the names of parameters: for checkpoints that outlive the order of parameters.
#pragma once
#include <map>
#include <string>

#include <ATen/core/Tensor.h>
#include <torch/optim/optimizer.h>
#include <torch/ordered_dict.h>

namespace lockstep::optim {

struct NamedState {
  // "layer1.0.conv1.weight.momentum_buffer" and the like. The entries of a parameter are named as in PyTorch:
  // momentum_buffer (sgd, lars); step, exp_avg, exp_avg_sq, max_exp_avg_sq (adam, adamw, lamb).
  std::map<std::string, at::Tensor> tensors;
  // "optimizer", "groups", "parameters_with_state", and the options of each group, as "group.0.lr". Numbers are written
  // so that they are read back exactly.
  std::map<std::string, std::string> values;
};

// The state of one of our optimizers, or of torch::optim's SGD, Adam and AdamW. `names` has all of its parameters, as
// named_parameters() of their model does. Tensors are not copied: the optimizer's next step changes them.
//
// Throws UsageError for another kind of optimizer, and for a parameter without a name.
NamedState named_state(const torch::optim::Optimizer& optimizer,
                       const torch::OrderedDict<std::string, at::Tensor>& names);

// The reverse: copies tensors to the devices of the parameters, and sets the options of the groups. What the optimizer
// remembered before is gone. The parameters may be in another order, and in other groups, than when it was saved; the
// number of groups and the kind of optimizer must be the same, where ours and torch::optim's count as one kind.
//
// Throws UsageError as named_state does, and for entries that are missing, unknown or of another shape. Then nothing
// has changed.
void load_named_state(torch::optim::Optimizer& optimizer, const torch::OrderedDict<std::string, at::Tensor>& names,
                      const NamedState& state);

}  // namespace lockstep::optim
