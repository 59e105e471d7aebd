// Loss scaling: small gradients survive in fp16, and a step whose gradients overflowed is skipped.
#pragma once
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <torch/optim/optimizer.h>
#include <torch/ordered_dict.h>

#include <lockstep/amp/master_weights.h>
#include <lockstep/amp/precision.h>
#include <lockstep/comm/group.h>

namespace lockstep::amp {

struct GradScalerOptions {
  double initial_scale = 65536;
  double growth_factor = 2;     // of the scale, after growth_interval steps in a row that were not skipped
  double backoff_factor = 0.5;  // of the scale, after a step that was
  std::int64_t growth_interval = 2000;
  bool dynamic = true;          // false: the scale stays; a step that overflows is skipped all the same
  bool enabled = true;          // false: nothing is scaled, looked at or skipped
  bool half_gradients = false;  // gradients in fp16 are unscaled where they are, and not refused
  std::optional<MasterWeights> master_weights;
  // Ranks that skip together. Without it a rank skips by its own gradients: right where these are the same on all
  // ranks, as DistributedDataParallel and DistributedOptimizer leave them, since an infinity on one is one on all. It
  // is needed where they are not: parameters that only some ranks have, or gradients that are not reduced before the
  // step.
  std::optional<Group> group;
};

// Those for a precision: disabled where it does not scale the loss. A group: see GradScalerOptions.
GradScalerOptions scaler_options(const Precision& precision, const MasterWeights& weights,
                                 const std::optional<Group>& group = {});

// What DistributedOptimizer is: an optimizer that reduces gradients, round another that steps.
template <typename T>
concept ReducingOptimizer = requires(T& reducing) {
  reducing.synchronize();
  reducing.step();
  { reducing.optimizer() } -> std::same_as<torch::optim::Optimizer&>;
};

// As torch.amp.GradScaler of Python, by the same kernels:
//
//   scaler.scale(loss).backward();
//   scaler.unscale(optimizer);                                        // where gradients are clipped or looked at
//   torch::nn::utils::clip_grad_norm_(weights.parameters(), 1.0);
//   scaler.step(optimizer);                                           // not if a gradient is NaN or infinite
//   scaler.update();                                                  // once, after the steps of all optimizers
//
// Each optimizer has a flag of its own and is skipped by itself; the scale falls if any of them was. Calls out of order
// throw UsageError.
//
// Scale, flags and counts are on the device of the first loss. An optim::DeviceStep reads the flag there: the host
// waits for nothing, and a CUDA graph can hold the whole step, after at least one that ran outside of it; the scaler
// must live as long as the graph. With any other optimizer the host waits for the flag. Gradients are unscaled where
// they are, in the pass that looks at them.
//
// Skipped steps are logged: "step 12 skipped: gradients overflowed at loss scale 65536; the scale is now 32768". On the
// CPU that is when update() returns. On a GPU update() looks at a copy that an earlier one sent off, so the line comes
// one or a few steps later. If the scale falls below 1, or 25 steps in a row are skipped, a warning says that the loss
// itself may not be finite.
//
// With a group, each rank makes the same calls. Not for use by several threads.
class GradScaler {
 public:
  using Optimizer = torch::optim::Optimizer;

  // Throws UsageError for factors and intervals that make no sense.
  explicit GradScaler(GradScalerOptions options = {});
  GradScaler(GradScaler&&) noexcept;
  GradScaler& operator=(GradScaler&&) noexcept;
  ~GradScaler();

  // The loss, or another output to call backward on, times the scale.
  at::Tensor scale(const at::Tensor& output);
  std::vector<at::Tensor> scale(const std::vector<at::Tensor>& outputs);

  // Divides the optimizer's gradients by the scale, after all of them were accumulated, and looks for what is not
  // finite. Brings them to the master weights first, where there are some. Throws UsageError for a second call before
  // update(), for an optimizer without any gradient, and for gradients in fp16, which mean that the model itself is in
  // fp16 and has no master weights.
  //
  // Collective if there is a group. A rank without any gradient takes part then, and has nothing to step. Where a rank
  // throws for gradients in fp16, the others skip the step.
  void unscale(Optimizer& optimizer);

  // unscale(), unless that was done, and the optimizer's step, unless a gradient is not finite.
  void step(Optimizer& optimizer);

  // Horovod's way: the gradients of all ranks are reduced first, and not a second time in its step. Not with
  // backward passes that a rank leaves by join(). Master weights are refused.
  void unscale(ReducingOptimizer auto& reducing);
  void step(ReducingOptimizer auto& reducing);

  // Gives the next steps another scale: a given one, or as overflow demands. A given one may come at any time after the
  // first scale(); without it, throws UsageError if no optimizer was unscaled or stepped since the last call. Throws
  // UsageError for a new scale that is not above 0 and finite.
  void update(std::optional<double> new_scale = std::nullopt);

  // Logs what is known of skipped steps and has not been logged yet. update() does it; replays of a CUDA graph do not.
  // Does not wait.
  void report();

  bool enabled() const;

  // These wait for the device. Without scaling: 1 and 0.
  double loss_scale() const;
  std::int64_t growth_tracker() const;  // steps since the last change of the scale
  std::int64_t steps() const;           // calls of update() after a step, replayed ones too; exact up to 2^24
  std::int64_t skipped_steps() const;   // of these, with any optimizer skipped

  // For checkpoints, between update() and the next scale(): tensors of one element on the CPU, named `scale`,
  // `growth_factor`, `backoff_factor`, `growth_interval`, `growth_tracker`, `steps`, `skipped_steps`. Empty and ignored
  // where there is no scaling. load_state waits for the device; it throws UsageError, and changes nothing, where a name
  // is missing.
  torch::OrderedDict<std::string, at::Tensor> state() const;
  void load_state(const torch::OrderedDict<std::string, at::Tensor>& state);

 private:
  void require_reducible() const;
  void step(Optimizer& optimizer, const std::function<void()>& take);
  bool is_unscaled(const Optimizer& optimizer) const;

  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

void GradScaler::unscale(ReducingOptimizer auto& reducing) {
  require_reducible();
  reducing.synchronize();
  unscale(reducing.optimizer());
}

void GradScaler::step(ReducingOptimizer auto& reducing) {
  require_reducible();
  if (enabled() && !is_unscaled(reducing.optimizer())) unscale(reducing);
  step(reducing.optimizer(), [&reducing] { reducing.step(); });
}

}  // namespace lockstep::amp
