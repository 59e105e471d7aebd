// Batch normalization over the batches of all ranks.
#pragma once
#include <lockstep/comm/group.h>
#include <lockstep/nn/batch_norm.h>

namespace lockstep {

// As nn::BatchNorm; while it trains, mean and variance are those of the batches of all ranks of `group` together, which
// may differ in size and be empty on some. Then forward is collective, and so is backward if the input has a gradient.
// In evaluation nothing is sent. The gradients of weight and bias are this rank's share, as any other parameter's: what
// reduces gradients reduces these too.
//
// Works on CPU and CUDA tensors, in float32, float64, and 16-bit floats with parameters in float32. Throws UsageError
// where nn::BatchNorm does, and for a second derivative.
class SyncBatchNorm : public torch::nn::ModuleHolder<nn::BatchNormImpl> {
 public:
  // Collective: throws UsageError on every rank if the numbers of channels differ. Keeps a copy of `group`.
  SyncBatchNorm(const torch::nn::BatchNormOptions& options, const Group& group);
  SyncBatchNorm(std::nullptr_t) : ModuleHolder(nullptr) {}
  using Impl [[maybe_unused]] = nn::BatchNormImpl;
};

// Makes every normalization inside `module` one over all ranks: each nn::BatchNorm at any depth, and each
// torch::nn::BatchNorm1d, 2d and 3d that is an element of a torch::nn::Sequential. Parameters, buffers, their names and
// the training flag stay, so an optimizer that holds the parameters goes on holding them. Returns how many there are.
//
// Collective. Throws UsageError on every rank, and changes nothing, if the ranks hold different normalizations, or if a
// torch::nn::BatchNorm is a member of a user's own module, where it cannot be replaced: declare that as nn::BatchNorm.
int convert_sync_batch_norm(torch::nn::Module& module, const Group& group);

}  // namespace lockstep
