// Horovod's way: an optimizer that steps with the gradients of all ranks.
#pragma once
#include <memory>
#include <vector>

#include <torch/optim/optimizer.h>

#include <lockstep/comm/group.h>
#include <lockstep/parallel/named_tensors.h>

namespace lockstep {

// Adasum adds gradients that are orthogonal and averages those that are parallel, tensor by tensor: two of them become
// a * (1 - a·b / 2|a|²) + b * (1 - a·b / 2|b|²), and so do pairs of such results, until one is left.
enum class GradientReduction { kAverage, kSum, kAdasum };

// The type that gradients have on their way. Averages are divided before they are sent, so they do not overflow.
enum class Compression { kNone, kFp16, kBf16 };

struct DistributedOptimizerOptions {
  GradientReduction reduction = GradientReduction::kAverage;
  Compression compression = Compression::kNone;
  // Gradients of so many backward passes are added up before they are reduced. For their average divide the loss.
  int backward_passes_per_step = 1;
  // Gradients are reduced together in buffers of this size. One of a quarter of it and more is reduced by itself, where
  // it lies, without a copy.
  double fusion_megabytes = 4;
  // Lets ranks run out of samples at different steps (join), at the price of one more small collective a step.
  bool uneven_inputs = false;
  // Gradients are looked at before and after they are reduced, and what is not finite is an error that names the
  // parameter and its ranks, as with DistributedDataParallel. To be switched off for a loss scaler.
  bool check_gradients = true;
};

// Goes round an optimizer on each rank of a group. As soon as backward has made a gradient, its reduction starts;
// step() waits for all of them and lets the optimizer step.
//
//   torch::optim::SGD sgd(model->parameters(), 0.1);
//   lockstep::DistributedOptimizer optimizer(sgd, model->named_parameters(), world);
//   ...
//   optimizer.zero_grad();
//   loss.backward();
//   optimizer.step();
//
// Every rank makes it, with the same parameters, and takes the same number of steps. Parameters are not made equal:
// broadcast_parameters does that. A parameter that got no gradient on a rank counts as zero there. It is a mistake to
// compute more gradients, or to change them, between backward and step() or synchronize().
//
// The optimizer is not owned and must live longer. Its own zero_grad, step and add_param_group are not to be used. The
// DistributedOptimizer has a communicator of its own, so other collectives may run between backward and step().
//
// A step that some rank does not join within the group's timeout throws TimeoutError that names the parameters and the
// ranks. synchronize(), step() and join() throw NotFiniteError, on every rank, when gradients are not finite.
class DistributedOptimizer {
 public:
  // Collective. `parameters` names all parameters of the optimizer; those that it does not have are left alone, and so
  // are those that require no gradient. One tensor under several names counts once. Throws UsageError, on every rank,
  // when a rank's parameters are not named, or not those of the other ranks.
  DistributedOptimizer(torch::optim::Optimizer& optimizer, const NamedTensors& parameters, const Group& group,
                       const DistributedOptimizerOptions& options = {});
  DistributedOptimizer(const DistributedOptimizer&) = delete;
  DistributedOptimizer& operator=(const DistributedOptimizer&) = delete;
  ~DistributedOptimizer();

  // Collective. The gradients of all ranks, reduced, are in place when it returns, to be clipped or looked at before
  // step(), which does not do it again. Throws UsageError where there was no backward since the last step.
  void synchronize();

  // Collective. synchronize(), unless that was done, and the optimizer's step.
  void step();

  // Throws UsageError while gradients are being reduced, between backward and step() or synchronize().
  void zero_grad(bool set_to_none = true);

  // For a rank that has no samples left, with options.uneven_inputs: takes part in the steps of the others, with no
  // gradients of its own, until every rank has called it. Returns the rank that came last, whose parameters all have
  // then: a learning rate that others change meanwhile is not known here.
  int join();

  torch::optim::Optimizer& optimizer();
  std::vector<torch::optim::OptimizerParamGroup>& param_groups() { return optimizer().param_groups(); }
  void set_learning_rate(double rate);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace lockstep
