// One step of training: forward, loss, backward, reduction over the ranks, clipping, update.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <torch/optim/optimizer.h>

#include <lockstep/amp/grad_scaler.h>
#include <lockstep/amp/precision.h>
#include <lockstep/comm/group.h>
#include <lockstep/data/batch_source.h>
#include <lockstep/gpu/ranges.h>
#include <lockstep/nn/model.h>
#include <lockstep/optim/parameter_groups.h>
#include <lockstep/parallel/distributed_data_parallel.h>
#include <lockstep/parallel/distributed_optimizer.h>
#include <lockstep/parallel/sync.h>
#include <lockstep/train/mode.h>

namespace lockstep::train {

struct TrainingStepOptions {
  using MakeOptimizer =
      std::function<std::unique_ptr<torch::optim::Optimizer>(const std::vector<optim::ParameterGroup>& groups)>;
  using Loss = std::function<at::Tensor(const at::Tensor& outputs, const at::Tensor& targets)>;

  Mode mode = Mode::kDdp;
  at::Device device = at::kCPU;
  amp::Precision precision = {};
  bool channels_last = true;  // where a sample has three or four dimensions
  bool graph = false;         // on a GPU, in mode ddp or none: the step is recorded and replayed
  int accumulation = 1;       // batches of a step
  std::optional<double> clip_norm, clip_value;
  Loss loss = {};                // empty: cross entropy
  MakeOptimizer optimizer = {};  // empty: SGD as optim::make_optimizer has it
  optim::ParameterGroupOptions groups = {};
  DistributedDataParallelOptions ddp = {};        // of modes ddp and zero
  DistributedOptimizerOptions by_optimizer = {};  // of mode optimizer
  SyncGradientsOptions sync = {};                 // of mode sync
  gpu::Ranges::Options ranges = {};               // for profilers
  std::vector<std::int64_t> count_top = {};       // count correct answers among the k highest, for each k
  bool measure_gradient_norm = false;             // of what all ranks agreed on, before clipping
};

// What steps added up to, over this rank's samples.
struct StepTotals {
  double loss = 0;              // of each sample, added up
  std::vector<double> correct;  // for each k of count_top
  std::int64_t samples = 0;
  std::int64_t steps = 0;
  double gradient_norms = 0;        // added up over the steps where it was measured and finite,
  std::int64_t measured_steps = 0;  // which are so many

  double mean_loss() const { return samples > 0 ? loss / static_cast<double>(samples) : 0; }
};

// What a step remembers beside the model's own parameters and buffers, by names: "optimizer/fc.weight.momentum_buffer",
// "master/fc.weight", "scaler/scale".
struct StepState {
  std::map<std::string, at::Tensor> shared;  // the same on all ranks
  std::map<std::string, at::Tensor> own;     // this rank's share: the optimizer's, in mode zero
  std::map<std::string, std::string> texts;  // "optimizer/group.0.momentum"; the same on all ranks
};

// A model in training on one rank of a group. The model is cast, laid out and moved to the device when this is made,
// and, but for mode none, all ranks get rank 0's parameters and buffers. Every rank makes it, and calls run() equally
// often.
//
// On a GPU, with an optimizer of ours and in another mode than zero, run() waits for nothing: losses and counts add up
// on the device until somebody asks. A graph has a stream of its own, which waits for the caller's, and the caller's
// for it.
class TrainingStep {
 public:
  // Collective. Throws UsageError for options that do not fit together.
  TrainingStep(std::shared_ptr<nn::Model> model, const Group& group, const TrainingStepOptions& options);
  ~TrainingStep();
  TrainingStep(const TrainingStep&) = delete;
  TrainingStep& operator=(const TrainingStep&) = delete;

  // Collective. As many batches as options.accumulation, on the device; or fewer at the end of an epoch, but not in
  // mode optimizer. Each counts by its number of samples, which on some ranks may be 0. Where the step is a graph,
  // batches of another size than the first are run without it.
  void run(std::span<const data::Batch> batches);
  void run(const data::Batch& batch) { run(std::span(&batch, 1)); }

  // What steps added up to since the last call. Waits for the device. Look whether the loss is finite: amp::check_loss.
  StepTotals take_totals();

  // For checkpoints, between two steps. Tensors are not copied.
  StepState state() const;
  // The reverse. `own` may have the shares of all ranks, of another number of them too. The model's own state has to be
  // there already. Throws UsageError for what does not fit this model and optimizer.
  void load_state(const StepState& state);

  const std::shared_ptr<nn::Model>& model() const;
  torch::optim::Optimizer& optimizer();
  amp::GradScaler& scaler();
  const std::optional<amp::MasterWeights>& master_weights() const;

  // Time in all steps so far that went by waiting for other ranks, and how much of the communication was hidden;
  // nothing where that is not known, as on GPUs, or where it is not looked at.
  std::optional<std::chrono::duration<double>> exposed() const;
  std::optional<double> hidden() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace lockstep::train
