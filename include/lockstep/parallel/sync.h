// The plain primitives of data parallelism, for programs that do the rest themselves. Collective: every rank of the
// group calls them, with modules that hold the same.
#pragma once
#include <span>

#include <lockstep/comm/group.h>
#include <lockstep/parallel/module_state.h>

namespace lockstep {

// Tensors of any types and sizes become those of rank `root`. Small ones travel together.
void broadcast_tensors(std::span<const at::Tensor> tensors, const Group& group, int root = 0);

// As all_reduce of each, in place. Small ones travel together.
void all_reduce_tensors(std::span<const at::Tensor> tensors, const Group& group, Reduce op = Reduce::kSum);

// Parameters and buffers become those of rank `root`. Throws UsageError on every rank when the ranks' modules differ in
// names, shapes, types or layouts; the error names the first difference.
void sync_parameters(const ModuleState& state, const Group& group, int root = 0);
void sync_parameters(const auto& module, const Group& group, int root = 0) {
  sync_parameters(state_of(module), group, root);
}

// The gradients of all parameters become their average over the ranks (or what `op` says), in place. A parameter
// without gradient on this rank counts as zero where another rank has one, and gets the result; where no rank has one
// it stays without.
void sync_gradients(const ModuleState& state, const Group& group, Reduce op = Reduce::kAverage);
void sync_gradients(const auto& module, const Group& group, Reduce op = Reduce::kAverage) {
  sync_gradients(state_of(module), group, op);
}

}  // namespace lockstep
