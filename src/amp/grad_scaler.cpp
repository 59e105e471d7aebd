#include <lockstep/amp/grad_scaler.h>

#include <map>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/optim/device_step.h>

#include "scale_state.h"
#include "scaler_options.h"
#include "skip_log.h"
#include "unscale.h"

namespace lockstep::amp {
namespace {

using torch::optim::Optimizer;

[[noreturn]] void refuse(const std::string& message, const char* next) {
  throw UsageError({.message = "GradScaler: " + message, .next = next});
}

// What an optimizer reads on its device while it steps.
class FlagFor {
 public:
  FlagFor(optim::DeviceStep& optimizer, const at::Tensor& found_inf) : optimizer_(optimizer) {
    // No scale: the gradients are unscaled by the pass that looked at them, which writes them in any case.
    optimizer_.set_gradient_scale({}, found_inf);
  }
  FlagFor(const FlagFor&) = delete;
  FlagFor& operator=(const FlagFor&) = delete;
  ~FlagFor() { optimizer_.set_gradient_scale({}, {}); }

 private:
  optim::DeviceStep& optimizer_;
};

}  // namespace

class GradScaler::Implementation {
 public:
  explicit Implementation(GradScalerOptions options) : options_(std::move(options)), log_(options_.dynamic) {
    check(options_);
    first_.scale = static_cast<float>(options_.initial_scale);
  }

  bool enabled() const { return options_.enabled; }
  bool has_copies() const { return options_.master_weights && options_.master_weights->has_copies(); }

  at::Tensor scale(const at::Tensor& output) {
    if (!enabled()) return output;
    if (!state_) state_.emplace(output.device(), first_, first_tracker_);
    return output * state_->scale().to(output.device(), /*non_blocking=*/true);
  }

  void unscale(Optimizer& optimizer) {
    Record& record = records_[&optimizer];
    if (enabled()) {
      require_scale("unscale()");
      if (record.stage == Stage::kUnscaled) {
        refuse("unscale() was already called for this optimizer since the last update()", "call it once a step");
      }
      if (record.stage == Stage::kStepped) refuse("unscale() after step()", "call it before, or not at all");
    } else if (record.stage == Stage::kUnscaled) {
      return;
    }
    if (has_copies()) options_.master_weights->take_gradients(optimizer);
    if (enabled()) find_inf(optimizer, record.found_inf);
    record.stage = Stage::kUnscaled;
  }

  bool is_unscaled(const Optimizer& optimizer) const {
    const auto record = records_.find(&optimizer);
    return record != records_.end() && record->second.stage == Stage::kUnscaled;
  }

  void step(Optimizer& optimizer, const std::function<void()>& take) {
    if (enabled()) require_scale("step()");
    if (enabled() && records_[&optimizer].stage == Stage::kStepped) {
      refuse("step() was already called for this optimizer since the last update()", "call update() after each step");
    }
    if (!is_unscaled(optimizer)) unscale(optimizer);
    Record& record = records_[&optimizer];
    bool taken = true;
    if (!enabled()) {
      take();
    } else if (auto* on_device = dynamic_cast<optim::DeviceStep*>(&optimizer)) {
      const FlagFor flag(*on_device, record.found_inf);
      take();
    } else {
      taken = record.found_inf.item<float>() == 0;
      if (taken) take();
    }
    if (taken && has_copies()) options_.master_weights->write_back(optimizer);
    // Without scaling nobody need call update().
    record.stage = enabled() ? Stage::kStepped : Stage::kReady;
  }

  void update(std::optional<double> new_scale) {
    if (!enabled()) return;
    require_scale("update()");
    if (new_scale) check_scale("new_scale", *new_scale);
    const at::NoGradGuard no_gradients;
    at::Tensor found_inf;
    for (auto& [optimizer, record] : records_) {
      if (record.stage == Stage::kReady) continue;
      found_inf = found_inf.defined() ? at::maximum(found_inf, record.found_inf) : record.found_inf;
    }
    if (!found_inf.defined() && !new_scale) {
      refuse("update() before any step()", "call step() with each optimizer first");
    }
    for (auto& [optimizer, record] : records_) record.stage = Stage::kReady;
    if (found_inf.defined()) {
      state_->advance(found_inf, {.dynamic = options_.dynamic && !new_scale,
                                  .growth_factor = options_.growth_factor,
                                  .backoff_factor = options_.backoff_factor,
                                  .growth_interval = options_.growth_interval});
    }
    if (new_scale) state_->set_scale(*new_scale);
    report();
    log_.send(state_->numbers());
  }

  void report() {
    if (state_) log_.look(state_->numbers());
  }

  ScaleNumbers numbers() const { return state_ ? state_->read() : first_; }
  std::int64_t growth_tracker() const {
    return state_ ? state_->growth_tracker().item<std::int64_t>() : first_tracker_;
  }

  torch::OrderedDict<std::string, at::Tensor> state() const {
    torch::OrderedDict<std::string, at::Tensor> state;
    if (!enabled()) return state;
    const auto insert = [&](const char* name, auto value, at::ScalarType type) {
      state.insert(name, at::scalar_tensor(value, type));
    };
    const ScaleNumbers now = numbers();
    insert("scale", now.scale, at::kDouble);
    insert("growth_factor", options_.growth_factor, at::kDouble);
    insert("backoff_factor", options_.backoff_factor, at::kDouble);
    insert("growth_interval", options_.growth_interval, at::kLong);
    insert("growth_tracker", growth_tracker(), at::kLong);
    insert("steps", now.steps, at::kLong);
    insert("skipped_steps", now.skipped, at::kLong);
    return state;
  }

  void load_state(const torch::OrderedDict<std::string, at::Tensor>& state) {
    if (!enabled()) return;
    const auto value = [&](const char* name) {
      const at::Tensor* found = state.find(name);
      if (found == nullptr || found->numel() != 1) {
        refuse(fmt::format("the state has no '{}'", name), "load one that a GradScaler with scaling has saved");
      }
      return found->item<double>();
    };
    GradScalerOptions options = options_;
    options.initial_scale = value("scale");
    options.growth_factor = value("growth_factor");
    options.backoff_factor = value("backoff_factor");
    options.growth_interval = static_cast<std::int64_t>(value("growth_interval"));
    const auto tracker = static_cast<std::int64_t>(value("growth_tracker"));
    const ScaleNumbers numbers{.steps = static_cast<float>(value("steps")),
                               .scale = static_cast<float>(options.initial_scale),
                               .skipped = static_cast<float>(value("skipped_steps"))};
    check(options);
    options_ = std::move(options);
    first_ = numbers;
    first_tracker_ = tracker;
    if (state_) state_->wait();  // for what earlier steps have sent to the log
    log_.begin_at(numbers);
    if (state_) state_->set(numbers, tracker);
  }

 private:
  enum class Stage { kReady, kUnscaled, kStepped };
  struct Record {
    Stage stage = Stage::kReady;
    at::Tensor found_inf;  // kept, so that a graph and the steps outside of it use one
  };

  void require_scale(const char* what) const {
    if (!state_) refuse(fmt::format("{} before scale()", what), "call backward() on what scale(loss) returns");
  }

  void find_inf(Optimizer& optimizer, at::Tensor& found_inf) {
    const at::NoGradGuard no_gradients;
    const at::Tensor scale = state_->scale();
    if (found_inf.defined()) {
      found_inf.zero_();
    } else {
      found_inf = at::zeros({}, scale.options());
    }
    const bool refused = !options_.half_gradients && has_half_gradients(optimizer);
    if (refused) {
      found_inf.fill_(1);  // the other ranks do not step without this one
    } else {
      // The reciprocal in double, as Python has it: fp32's is not exact under every option of a compiler.
      const at::Tensor inverse = scale.to(at::kDouble).reciprocal_().to(at::kFloat);
      unscale_gradients(optimizer, inverse, found_inf);
    }
    // Before any error that is this rank's alone: the others would wait for it until their timeout.
    if (options_.group) options_.group->all_reduce(found_inf, Reduce::kMax);
    if (refused) {
      refuse("gradients in fp16 are not unscaled: they would lose what the scale has saved",
             "keep the parameters in fp32 under autocast (O1), or take master weights (O2)");
    }
    if (!options_.group && !has_gradients(optimizer)) {
      refuse("the optimizer has no gradient", "call backward() first, and give the optimizer the model's parameters");
    }
  }

  GradScalerOptions options_;
  ScaleNumbers first_;  // until there is a device
  std::int64_t first_tracker_ = 0;
  std::optional<ScaleState> state_;
  std::map<const Optimizer*, Record> records_;
  SkipLog log_;
};

GradScaler::GradScaler(GradScalerOptions options)
    : implementation_(std::make_unique<Implementation>(std::move(options))) {}
GradScaler::GradScaler(GradScaler&&) noexcept = default;
GradScaler& GradScaler::operator=(GradScaler&&) noexcept = default;
GradScaler::~GradScaler() = default;

at::Tensor GradScaler::scale(const at::Tensor& output) {
  return implementation_->scale(output);
}

std::vector<at::Tensor> GradScaler::scale(const std::vector<at::Tensor>& outputs) {
  std::vector<at::Tensor> scaled;
  for (const at::Tensor& output : outputs) scaled.push_back(implementation_->scale(output));
  return scaled;
}

void GradScaler::unscale(Optimizer& optimizer) {
  implementation_->unscale(optimizer);
}

void GradScaler::step(Optimizer& optimizer) {
  implementation_->step(optimizer, [&optimizer] { optimizer.step(); });
}

void GradScaler::step(Optimizer& optimizer, const std::function<void()>& take) {
  implementation_->step(optimizer, take);
}

bool GradScaler::is_unscaled(const Optimizer& optimizer) const {
  return implementation_->is_unscaled(optimizer);
}

void GradScaler::require_reducible() const {
  if (!implementation_->has_copies()) return;
  refuse("master weights have no gradients that a DistributedOptimizer could reduce",
         "use DistributedDataParallel, or O1");
}

void GradScaler::update(std::optional<double> new_scale) {
  implementation_->update(new_scale);
}

void GradScaler::report() {
  implementation_->report();
}

bool GradScaler::enabled() const {
  return implementation_->enabled();
}

double GradScaler::loss_scale() const {
  return enabled() ? implementation_->numbers().scale : 1;
}

std::int64_t GradScaler::growth_tracker() const {
  return enabled() ? implementation_->growth_tracker() : 0;
}

std::int64_t GradScaler::steps() const {
  return static_cast<std::int64_t>(implementation_->numbers().steps);
}

std::int64_t GradScaler::skipped_steps() const {
  return static_cast<std::int64_t>(implementation_->numbers().skipped);
}

torch::OrderedDict<std::string, at::Tensor> GradScaler::state() const {
  return implementation_->state();
}

void GradScaler::load_state(const torch::OrderedDict<std::string, at::Tensor>& state) {
  implementation_->load_state(state);
}

}  // namespace lockstep::amp
