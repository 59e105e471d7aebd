// All ranks begin as one: what Horovod calls broadcast_parameters and broadcast_optimizer_state.
#pragma once
#include <torch/optim/optimizer.h>

#include <lockstep/comm/group.h>
#include <lockstep/parallel/named_tensors.h>

namespace lockstep {

// Collective. The tensors become those of rank `root`, in place. Throws UsageError, on every rank, with the first
// difference when their names, types or shapes are not the same everywhere.
void broadcast_parameters(const NamedTensors& tensors, const Group& group, int root = 0);

// Collective. The optimizer gets the state of each parameter (momentum, step counts) and the options of each group
// (the learning rate) of rank `root`'s. They must be of one kind, with the same groups of parameters, and able to save
// themselves, as those of torch::optim are. Throws UsageError, on every rank, that says which rank has what, when they
// are not of one kind or have different parameters.
void broadcast_optimizer_state(torch::optim::Optimizer& optimizer, const Group& group, int root = 0);

}  // namespace lockstep
