#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/train/run_config.h>
#include <lockstep/train/schedule_of.h>

namespace lockstep::train {
namespace {

// Where a key got its value, for the beginning of a message: "a.yaml:3: ", or nothing for a default.
class Places {
 public:
  explicit Places(const std::vector<config::Setting>& settings) : settings_(settings) {}

  std::string before(const std::string& path) const {
    const std::string place = of(path);
    return place.empty() ? "" : place + ": ";
  }
  // "batch_size = 256 (a.yaml:3)"
  std::string shown(const std::string& path) const {
    const config::Setting* setting = find(path);
    const std::string place = of(path);
    return fmt::format("{} = {} ({})", path, setting == nullptr ? "?" : setting->value,
                       place.empty() ? "default" : place);
  }

 private:
  const config::Setting* find(const std::string& path) const {
    const auto found = std::find_if(settings_.begin(), settings_.end(), [&](const auto& s) { return s.path == path; });
    return found == settings_.end() ? nullptr : &*found;
  }
  std::string of(const std::string& path) const {
    const config::Setting* setting = find(path);
    return setting == nullptr || !setting->place ? "" : setting->place->text();
  }

  const std::vector<config::Setting>& settings_;
};

void require_one_batch_size(const RunConfig& config, const Places& places) {
  if (!config.batch_size || !config.batch_size_per_rank) return;
  throw UsageError(
      {.message = places.before("batch_size_per_rank") + "the batch size is given twice",
       .found = places.shown("batch_size") + " and " + places.shown("batch_size_per_rank"),
       .expected = "batch_size, of all ranks together, or batch_size_per_rank",
       .next = "leave one out; to replace what a config has: --set batch_size=null --set batch_size_per_rank=N"});
}

void require_classes_for_mixing(const RunConfig& config, const Places& places) {
  if (config.loss.name == "cross_entropy") return;
  const auto refuse = [&](const std::string& key, const std::string& what) {
    throw UsageError({.message = fmt::format("{}{} needs targets that are classes", places.before(key), what),
                      .found = places.shown(key) + " with " + places.shown("loss.name"),
                      .expected = "loss.name = cross_entropy"});
  };
  if (config.data.mixup > 0) refuse("data.mixup", "MixUp");
  if (config.data.cutmix > 0) refuse("data.cutmix", "CutMix");
  if (config.loss.label_smoothing > 0) refuse("loss.label_smoothing", "label smoothing");
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

// Whoever waits for a test metric needs evaluations while training goes on.
void require_evaluations(const RunConfig& config, const Places& places) {
  if (config.evaluation.every_epochs > 0) return;
  const auto refuse = [&](const std::string& key) {
    throw UsageError(
        {.message = fmt::format("{}'{}' waits for evaluations that are never made", places.before(key), key),
         .found = places.shown(key) + " with " + places.shown("evaluation.every_epochs"),
         .expected = "evaluation.every_epochs of at least 1"});
  };
  if (config.stop.accuracy) refuse("stop.accuracy");
  if (config.stop.patience > 0 && config.stop.metric.starts_with("test.")) refuse("stop.metric");
  if (schedule_of(config).plateau() && config.schedule.metric.starts_with("test.")) refuse("schedule.metric");
}

void require_schedule(const RunConfig& config, const Places& places) {
  try {
    schedule_of(config);
  } catch (const UsageError& error) {
    ErrorParts parts = error.parts();
    parts.message = fmt::format("{}'schedule.rate' {}", places.before("schedule.rate"), parts.message);
    throw UsageError(parts);
  }
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
  require_classes_for_mixing(config, places);
  require_betas(config, places);
  require_loss_scale(config, places);
  require_profiled_epoch(config, places);
  require_schedule(config, places);
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
