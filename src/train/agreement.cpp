#include "agreement.h"

#include <utility>

#include <torch/cuda.h>

#include <lockstep/base/errors.h>
#include <lockstep/parallel/data_parallel.h>
#include <lockstep/parallel/sync.h>
#include <lockstep/parallel/zero_redundancy_optimizer.h>

namespace lockstep::train {
namespace {

class AfterBackward : public Agreement {
 public:
  AfterBackward(const TrainedModel& model, const Group& group, const TrainingStepOptions& options)
      : Agreement(model), group_(group), options_(options.sync), state_(state_of(model)) {
    sync_parameters(state_, group_);
  }

  void unscale(amp::GradScaler& scaler, torch::optim::Optimizer& optimizer) override {
    synchronize();
    synchronized_ = true;
    scaler.unscale(optimizer);
  }

  void update(amp::GradScaler& scaler, torch::optim::Optimizer& optimizer) override {
    if (!std::exchange(synchronized_, false)) synchronize();
    scaler.step(optimizer);
  }

 private:
  void synchronize() { sync_gradients(state_, group_, Reduce::kAverage, options_); }

  Group group_;
  SyncGradientsOptions options_;
  ModuleState state_;
  bool synchronized_ = false;  // for the step that is under way
};

DistributedDataParallelOptions ddp_options(const TrainingStepOptions& options) {
  DistributedDataParallelOptions ddp = options.ddp;
  // Gradients that add up over several backward passes have to be reduced anyway.
  if (options.accumulation > 1) ddp.share_factors = false;
  return ddp;
}

class DuringBackward : public Agreement {
 public:
  DuringBackward(const TrainedModel& model, const Group& group, const TrainingStepOptions& options)
      : Agreement(model), ddp_(model, group, ddp_options(options)) {}

  at::Tensor forward(const at::Tensor& input) override { return ddp_.forward(input); }

  void accumulate(const std::function<void()>& backward) override {
    const auto no_sync = ddp_.no_sync();
    backward();
  }

  std::optional<std::chrono::duration<double>> exposed() const override {
    const auto stats = ddp_.stats();
    return stats.communication.count() > 0 ? std::optional(stats.exposed) : std::nullopt;
  }
  std::optional<double> hidden() const override {
    const auto stats = ddp_.stats();
    return stats.communication.count() > 0 ? std::optional(stats.hidden()) : std::nullopt;
  }

 private:
  DistributedDataParallel<TrainedModel> ddp_;
};

// The optimizer's groups for a share of the parameters, which ZeRO gives as libtorch's.
ParameterGroups share_of(const ParameterGroups& groups, const ZeroRedundancyOptimizer::Groups& share) {
  ParameterGroups shared = groups;
  for (std::size_t i = 0; i < shared.size(); ++i) {
    shared[i].parameters = share[i].params();
    shared[i].parameter_names.clear();
  }
  return shared;
}

class Divided : public DuringBackward {
 public:
  Divided(const TrainedModel& model, const Group& group, const TrainingStepOptions& options)
      : DuringBackward(model, group, options), group_(group) {}

  std::unique_ptr<torch::optim::Optimizer> make_optimizer(const ParameterGroups& groups,
                                                          const TrainingStepOptions::MakeOptimizer& make,
                                                          const amp::MasterWeights& /*weights*/) override {
    ZeroRedundancyOptimizer::Groups whole;
    torch::OrderedDict<std::string, at::Tensor> names;
    for (const auto& group : groups) {
      whole.emplace_back(group.parameters);
      for (std::size_t i = 0; i < group.parameters.size(); ++i)
        names.insert(group.parameter_names[i], group.parameters[i]);
    }
    return std::make_unique<ZeroRedundancyOptimizer>(
        names, whole,
        [groups, make](const ZeroRedundancyOptimizer::Groups& share) { return make(share_of(groups, share)); }, group_);
  }

 private:
  Group group_;
};

class ByOptimizer : public Agreement {
 public:
  ByOptimizer(const TrainedModel& model, const Group& group, const TrainingStepOptions& options)
      : Agreement(model), group_(group), options_(options.by_optimizer) {
    options_.backward_passes_per_step = options.accumulation;
    sync_parameters(model_, group_);
  }

  std::unique_ptr<torch::optim::Optimizer> make_optimizer(const ParameterGroups& groups,
                                                          const TrainingStepOptions::MakeOptimizer& make,
                                                          const amp::MasterWeights& weights) override {
    auto optimizer = Agreement::make_optimizer(groups, make, weights);
    distributed_.emplace(*optimizer, weights.named_parameters(), group_, options_);
    return optimizer;
  }

  void zero_grad() override { distributed_->zero_grad(); }
  void unscale(amp::GradScaler& scaler, torch::optim::Optimizer& /*inner*/) override { scaler.unscale(*distributed_); }
  void update(amp::GradScaler& scaler, torch::optim::Optimizer& /*inner*/) override { scaler.step(*distributed_); }

 private:
  Group group_;
  DistributedOptimizerOptions options_;
  std::optional<DistributedOptimizer> distributed_;
};

// Every GPU, the given one first; of CPUs there is one.
std::vector<at::Device> devices_like(const at::Device& first) {
  std::vector<at::Device> devices{first};
  if (!first.is_cuda()) return devices;
  for (at::DeviceIndex i = 0; std::cmp_less(i, torch::cuda::device_count()); ++i) {
    if (i != first.index()) devices.emplace_back(first.type(), i);
  }
  return devices;
}

class SeveralDevices : public Agreement {
 public:
  SeveralDevices(const TrainedModel& model, const at::Device& device)
      : Agreement(model), parallel_(model, devices_like(device)) {}
  at::Tensor forward(const at::Tensor& input) override { return parallel_.forward(input); }

 private:
  DataParallel parallel_;
};

class MeetingOnly : public Agreement {
 public:
  MeetingOnly(const TrainedModel& model, const Group& group) : Agreement(model), group_(group) {}

  void update(amp::GradScaler& scaler, torch::optim::Optimizer& optimizer) override {
    group_.barrier();
    scaler.step(optimizer);
  }

 private:
  Group group_;
};

}  // namespace

std::unique_ptr<torch::optim::Optimizer> Agreement::make_optimizer(const ParameterGroups& groups,
                                                                   const TrainingStepOptions::MakeOptimizer& make,
                                                                   const amp::MasterWeights& /*weights*/) {
  return make(groups);
}

std::unique_ptr<Agreement> make_agreement(const TrainedModel& model, const Group& group,
                                          const TrainingStepOptions& options) {
  switch (options.mode) {
    case Mode::kDdp:
      return std::make_unique<DuringBackward>(model, group, options);
    case Mode::kSync:
      return std::make_unique<AfterBackward>(model, group, options);
    case Mode::kDataParallel:
      if (group.size() > 1) {
        throw UsageError({.message = "data-parallel is one process with several devices",
                          .found = std::to_string(group.size()) + " ranks",
                          .next = "leave out -n, or take mode ddp"});
      }
      return std::make_unique<SeveralDevices>(model, options.device);
    case Mode::kOptimizer:
      return std::make_unique<ByOptimizer>(model, group, options);
    case Mode::kZero:
      return std::make_unique<Divided>(model, group, options);
    case Mode::kBarrier:
      return std::make_unique<MeetingOnly>(model, group);
    case Mode::kNone:
      return std::make_unique<Agreement>(model);
  }
  throw UsageError("no such mode");
}

}  // namespace lockstep::train
