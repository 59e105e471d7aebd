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

struct SyncGradientsOptions {
  // Gradients are looked at before and after, and what is not finite is an error that names the parameter and its
  // ranks, as with DistributedDataParallel. To be switched off for a loss scaler, on all ranks.
  bool check_gradients = true;
};

// The gradients of all parameters become their average over the ranks (or what `op` says), in place. A parameter
// without gradient on this rank counts as zero where another rank has one, and gets the result; where no rank has one
// it stays without. Throws NotFiniteError on every rank when what comes of it is not finite.
void sync_gradients(const ModuleState& state, const Group& group, Reduce op = Reduce::kAverage,
                    const SyncGradientsOptions& options = {});
void sync_gradients(const auto& module, const Group& group, Reduce op = Reduce::kAverage,
                    const SyncGradientsOptions& options = {}) {
  sync_gradients(state_of(module), group, op, options);
}

}  // namespace lockstep
