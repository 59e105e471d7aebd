#include <lockstep/parallel/distributed_optimizer.h>

#include <atomic>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/parallel/sync.h>

#include "gradient_hooks.h"
#include "gradient_reducer.h"
#include "same_parameters.h"

namespace lockstep {
namespace {

constexpr const char* kWho = "DistributedOptimizer";

void check(const DistributedOptimizerOptions& options) {
  const auto refuse = [](const char* option, const auto& found, const char* expected) {
    throw UsageError({.message = fmt::format("{}: {} makes no sense", kWho, option),
                      .found = fmt::format("{}", found),
                      .expected = expected});
  };
  if (options.backward_passes_per_step < 1) {
    refuse("backward_passes_per_step", options.backward_passes_per_step, "1 or more");
  }
  constexpr double kMost = 1 << 20;
  if (!(options.fusion_megabytes >= 0 && options.fusion_megabytes <= kMost)) {
    refuse("fusion_megabytes", options.fusion_megabytes, "0 or more; 0 for no fusion");
  }
}

// What must be the same on all ranks.
std::string in_words(const DistributedOptimizerOptions& options) {
  return fmt::format(
      "reduction {}, compression {}, backward_passes_per_step {}, fusion_megabytes {}, uneven_inputs {}, "
      "check_gradients {}",
      static_cast<int>(options.reduction), static_cast<int>(options.compression), options.backward_passes_per_step,
      options.fusion_megabytes, options.uneven_inputs, options.check_gradients);
}

}  // namespace

class DistributedOptimizer::Implementation {
 public:
  Implementation(torch::optim::Optimizer& optimizer, const NamedTensors::List& parameters, const Group& group,
                 const DistributedOptimizerOptions& options)
      : optimizer_(optimizer),
        options_(options),
        parameters_(with_gradient(parameters, true)),
        frozen_(with_gradient(parameters, false)),
        passes_(parameters_.size()),
        group_(group.duplicate()),
        reducer_(group_, parameters_,
                 {.reduction = options.reduction,
                  .compression = options.compression,
                  .bytes = static_cast<std::int64_t>(options.fusion_megabytes * (1 << 20))},
                 options.uneven_inputs, options.check_gradients),
        hooks_(tensors_of(parameters_),
               [this](std::size_t parameter, const at::Tensor& /*incoming*/) { on_gradient(parameter); }) {}

  torch::optim::Optimizer& optimizer() { return optimizer_; }

  void synchronize() {
    if (!passed_.exchange(false)) {
      if (synchronized_) return;
      throw UsageError({.message = fmt::format("{}: there was no backward since the last step", kWho),
                        .next = options_.uneven_inputs ? "call join() on a rank that has no samples left"
                                                       : "call backward() before step(), on every rank"});
    }
    std::fill(passes_.begin(), passes_.end(), 0);
    reducer_.finish();
    // After the collectives, which other ranks wait for.
    for (const auto& [name, parameter] : frozen_) {
      if (!parameter.requires_grad()) continue;
      throw UsageError({.message = fmt::format("{}: '{}' was frozen when this was made, and is not now", kWho, name),
                        .next = "make a new DistributedOptimizer after unfreezing, on every rank"});
    }
    synchronized_ = true;
  }

  void step() {
    synchronize();
    optimizer_.step();
    synchronized_ = false;
  }

  void zero_grad(bool set_to_none) {
    if (reducer_.busy()) {
      throw UsageError({.message = fmt::format("{}: gradients are being reduced and cannot be set to zero now", kWho),
                        .next = "call zero_grad() before backward(), or after step() or synchronize()"});
    }
    optimizer_.zero_grad(set_to_none);
    reducer_.forget();
    std::fill(passes_.begin(), passes_.end(), 0);
    passed_ = false;
    synchronized_ = false;
  }

  int join() {
    if (!options_.uneven_inputs) {
      throw UsageError({.message = fmt::format("{}: join() needs uneven_inputs among the options", kWho),
                        .next = "set .uneven_inputs = true, on every rank"});
    }
    if (passed_) throw UsageError(fmt::format("{}: join() between backward and step", kWho));
    std::int64_t helped = 0;
    while (true) {
      optimizer_.zero_grad();
      if (!reducer_.finish(/*takes_part=*/false)) break;
      optimizer_.step();
      ++helped;
    }
    optimizer_.zero_grad();
    // Who helped least came last; of several the highest rank.
    const std::int64_t least = group_.all_reduce_value(helped, Reduce::kMin);
    const auto last =
        static_cast<int>(group_.all_reduce_value(std::int64_t{helped == least ? group_.rank() : -1}, Reduce::kMax));
    broadcast_tensors(tensors_of(parameters_), group_, last);
    return last;
  }

 private:
  void on_gradient(std::size_t parameter) {
    const auto& [name, tensor] = parameters_[parameter];
    if (!tensor.grad().defined()) return;
    int& passes = passes_[parameter];
    if (passes == options_.backward_passes_per_step) {
      throw UsageError({.message = fmt::format("{}: the gradient of '{}' was computed again before step()", kWho, name),
                        .found = fmt::format("{} backward passes", passes + 1),
                        .expected = fmt::format("backward_passes_per_step = {}", options_.backward_passes_per_step),
                        .next = "call step() after that many passes, or raise backward_passes_per_step"});
    }
    passed_ = true;
    synchronized_ = false;
    if (++passes == options_.backward_passes_per_step) reducer_.ready(parameter);
  }

  torch::optim::Optimizer& optimizer_;
  DistributedOptimizerOptions options_;
  NamedTensors::List parameters_;
  NamedTensors::List frozen_;  // when this was made
  std::vector<int> passes_;    // of backward since the last step, for each parameter
  // Backward may run in several threads, one for each kind of device.
  std::atomic<bool> passed_ = false;        // any of them
  std::atomic<bool> synchronized_ = false;  // and not stepped yet
  Group group_;
  parallel::GradientReducer reducer_;
  parallel::GradientHooks hooks_;  // last: nothing calls back after it is gone
};

DistributedOptimizer::DistributedOptimizer(torch::optim::Optimizer& optimizer, const NamedTensors& parameters,
                                           const Group& group, const DistributedOptimizerOptions& options) {
  const auto same = parallel::require_same(group, kWho, in_words(options), [&] {
    check(options);
    auto list = parallel::parameters_of(kWho, optimizer, parameters);
    if (with_gradient(list, true).empty()) throw UsageError(fmt::format("{}: all parameters are frozen", kWho));
    return list;
  });
  implementation_ = std::make_unique<Implementation>(optimizer, same, group, options);
}

DistributedOptimizer::~DistributedOptimizer() = default;

void DistributedOptimizer::synchronize() {
  implementation_->synchronize();
}

void DistributedOptimizer::step() {
  implementation_->step();
}

void DistributedOptimizer::zero_grad(bool set_to_none) {
  implementation_->zero_grad(set_to_none);
}

int DistributedOptimizer::join() {
  return implementation_->join();
}

torch::optim::Optimizer& DistributedOptimizer::optimizer() {
  return implementation_->optimizer();
}

void DistributedOptimizer::set_learning_rate(double rate) {
  for (auto& group : param_groups()) group.options().set_lr(rate);
}

}  // namespace lockstep
