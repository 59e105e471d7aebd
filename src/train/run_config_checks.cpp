#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/base/errors.h>
#include <lockstep/trace/timeline.h>
#include <lockstep/train/metrics.h>
#include <lockstep/train/mode.h>
#include <lockstep/train/run_config.h>
#include <lockstep/train/schedule_of.h>

#include "awaited_tests.h"
#include "places.h"

namespace lockstep::train {
namespace {

void require_one_batch_size(const RunConfig& config, const Places& places) {
  if (!config.batch_size || !config.batch_size_per_rank) return;
  throw UsageError(
      {.message = places.before("batch_size_per_rank") + "the batch size is given twice",
       .found = places.shown("batch_size") + " and " + places.shown("batch_size_per_rank"),
       .expected = "batch_size, of all ranks together, or batch_size_per_rank",
       .next = "leave one out; to replace what a config has: --set batch_size=null --set batch_size_per_rank=N"});
}

void require_an_end(const RunConfig& config, const Places& places) {
  if (config.epochs > 0 || config.steps > 0) return;
  throw UsageError({.message = places.before("epochs") + "the run has no end",
                    .found = places.shown("epochs") + " and " + places.shown("steps"),
                    .expected = "one of them above 0"});
}

void require_betas(const RunConfig& config, const Places& places) {
  const auto count = config.optimizer.betas.size();
  if (count == 0 || count == 2) return;
  throw UsageError({.message = places.before("optimizer.betas") + "'optimizer.betas' does not fit",
                    .found = places.shown("optimizer.betas"),
                    .expected = "two numbers"});
}

void require_loss_scale(const RunConfig& config, const Places& places) {
  const auto& text = config.precision.loss_scale;
  if (!text || *text == "dynamic" || *text == "none") return;
  double number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error == std::errc{} && end == text->data() + text->size() && std::isfinite(number) && number > 0) return;
  throw UsageError({.message = places.before("precision.loss_scale") + "'precision.loss_scale' does not fit",
                    .found = places.shown("precision.loss_scale"),
                    .expected = "dynamic, none or a number above 0"});
}

void require_profiled_epoch(const RunConfig& config, const Places& places) {
  if (config.epochs == 0 || config.profile.epoch <= config.epochs) return;
  throw UsageError({.message = places.before("profile.epoch") + "the epoch to profile is never reached",
                    .found = places.shown("profile.epoch") + " with " + places.shown("epochs")});
}

void require_trace(const RunConfig& config, const Places& places) {
  if (config.profile.trace.empty()) return;
  try {
    trace::parse_window(config.profile.trace);
  } catch (const UsageError& error) {
    ErrorParts parts = error.parts();
    parts.message = places.before("profile.trace") + parts.message;
    throw UsageError(parts);
  }
}

void require_schedule(const RunConfig& config, const Places& places) {
  try {
    schedule_of(config);
  } catch (const UsageError& error) {
    ErrorParts parts = error.parts();
    parts.message = fmt::format("{}'schedule.rate': {}", places.before("schedule.rate"), parts.message);
    throw UsageError(parts);
  }
}

// A plateau of an accuracy that waits for it to become smaller would lower the rate as long as all goes well.
void require_plateau(const RunConfig& config, const Places& places) {
  const auto plateau = schedule_of(config).plateau();
  const bool larger = larger_is_better(config.schedule.metric);
  if (!plateau || plateau->maximize == larger) return;
  throw UsageError({.message = places.before("schedule.rate") + "the plateau looks the wrong way",
                    .found = places.shown("schedule.rate") + " with " + places.shown("schedule.metric"),
                    .expected = fmt::format("mode={} in the plateau, because {} of that is better",
                                            larger ? "max" : "min", larger ? "more" : "less")});
}

struct OptionOfSome {
  const char* name;
  bool given;
  std::vector<std::string> optimizers;  // that have it
};

// As optim::make_optimizer has them, which cannot be asked without libtorch.
std::vector<OptionOfSome> options_of_some(const OptimizerKeys& keys) {
  return {{"momentum", keys.momentum.has_value(), {"sgd", "lars"}},
          {"dampening", keys.dampening.has_value(), {"sgd"}},
          {"nesterov", keys.nesterov, {"sgd"}},
          {"betas", !keys.betas.empty(), {"adam", "adamw", "lamb"}},
          {"eps", keys.eps.has_value(), {"adam", "adamw", "lars", "lamb"}},
          {"amsgrad", keys.amsgrad, {"adam", "adamw"}},
          {"trust_coefficient", keys.trust_coefficient.has_value(), {"lars"}},
          {"always_adapt", keys.always_adapt, {"lars", "lamb"}},
          {"fused", !keys.fused, {"sgd", "adam", "adamw"}}};  // libtorch has no others of its own
}

void require_options_of_optimizer(const RunConfig& config, const Places& places) {
  for (const OptionOfSome& option : options_of_some(config.optimizer)) {
    const auto& having = option.optimizers;
    if (!option.given || std::find(having.begin(), having.end(), config.optimizer.name) != having.end()) continue;
    const std::string key = fmt::format("optimizer.{}", option.name);
    throw UsageError({.message = fmt::format("{}'{}' is not for {}", places.before(key), key, config.optimizer.name),
                      .found = places.shown(key) + " with " + places.shown("optimizer.name"),
                      .expected = fmt::format("one of {} as optimizer.name", fmt::join(having, ", ")),
                      .next = fmt::format("leave it out; to take back what a config has: --set {}=null", key)});
  }
}

bool hook_acts(Mode mode, const std::string& hook) {
  if (hook == "none" || mode == Mode::kDdp || mode == Mode::kZero) return true;
  return mode == Mode::kOptimizer && hook != "power_sgd";
}

void require_hook_that_acts(const RunConfig& config, const Places& places) {
  const Mode mode = parse_mode(config.parallel.mode);
  if (hook_acts(mode, config.parallel.hook)) return;
  throw UsageError({.message = places.before("parallel.hook") + "'parallel.hook' does nothing in this mode",
                    .found = places.shown("parallel.hook") + " with " + places.shown("parallel.mode"),
                    .expected = mode == Mode::kOptimizer ? "none, fp16 or bf16, or mode ddp or zero"
                                                         : "none, or mode ddp, zero or optimizer"});
}

UsageError uneven(std::int64_t batch, int ranks, std::int64_t accumulation) {
  const std::int64_t unit = ranks * accumulation;
  const std::int64_t below = batch / unit * unit, above = below + unit;
  const std::string share =
      accumulation == 1 ? fmt::format("{} ranks", ranks) : fmt::format("{} ranks x {} batches", ranks, accumulation);
  return UsageError({.message = "the batch cannot be divided evenly",
                     .found = fmt::format("batch_size {} over {}", batch, share),
                     .expected = below == 0 ? fmt::format("{}, or another multiple of {}", above, unit)
                                            : fmt::format("{} or {}, or another multiple of {}", below, above, unit)});
}

}  // namespace

void read_config(config::Schema& schema, RunConfig& config, const config::Value& root) {
  schema.read(root);
  auto settings = schema.settings();
  const auto epochs = std::find_if(settings.begin(), settings.end(), [](const auto& s) { return s.path == "epochs"; });
  if (config.steps > 0 && !epochs->place) {
    config.epochs = 0;
    settings = schema.settings();
  }
  require_consistent(config, settings);
}

void require_consistent(const RunConfig& config, const std::vector<config::Setting>& settings) {
  const Places places(settings);
  require_one_batch_size(config, places);
  require_an_end(config, places);
  require_betas(config, places);
  require_options_of_optimizer(config, places);
  require_loss_scale(config, places);
  require_profiled_epoch(config, places);
  require_trace(config, places);
  require_schedule(config, places);
  require_plateau(config, places);
  require_hook_that_acts(config, places);
  require_evaluations(config, places);
}

std::int64_t global_batch(const RunConfig& config, int ranks) {
  const std::int64_t unit = ranks * config.accumulation;
  if (config.batch_size_per_rank) return *config.batch_size_per_rank * unit;
  const std::int64_t batch = config.batch_size.value_or(kDefaultBatch);
  if (batch % unit != 0) throw uneven(batch, ranks, config.accumulation);
  return batch;
}

std::int64_t batch_of_rank(const RunConfig& config, int ranks) {
  return global_batch(config, ranks) / (ranks * config.accumulation);
}

}  // namespace lockstep::train
