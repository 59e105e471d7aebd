#include "trainer_state.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/data/tensor_bytes.h>
#include <lockstep/nn/model_state.h>
#include <lockstep/train/metrics.h>

#include "named_values.h"
#include "random_state.h"

namespace lockstep::train {
namespace {

using Tensors = Snapshot::Tensors;

std::int64_t integer_at(const checkpoint::Manifest& manifest, const std::string& name) {
  const auto found = manifest.integers.find(name);
  if (found == manifest.integers.end()) throw UsageError(fmt::format("the checkpoint has no number '{}'", name));
  return found->second;
}

void save_best(const Best& best, const std::string& name, checkpoint::Manifest& manifest) {
  if (!best.value) return;
  manifest.numbers[name + ".value"] = *best.value;
  manifest.integers[name + ".epoch"] = best.epoch;
  manifest.integers[name + ".since"] = best.since;
  manifest.texts[name + ".metric"] = best.metric;
}

// A run may go on by another metric; then what was best by the other is forgotten.
void load_best(Best& best, const std::string& name, const checkpoint::Manifest& manifest) {
  const auto metric = manifest.texts.find(name + ".metric");
  const auto value = manifest.numbers.find(name + ".value");
  best = {.metric = best.metric};
  if (metric == manifest.texts.end() || value == manifest.numbers.end() || metric->second != best.metric) return;
  best.value = value->second;
  best.epoch = integer_at(manifest, name + ".epoch");
  best.since = integer_at(manifest, name + ".since");
}

Tensors tensors_of(const checkpoint::Checkpoint& checkpoint, const checkpoint::FileRecord& file) {
  Tensors tensors;
  for (const auto& record : file.tensors) {
    const data::TensorFile tensor = checkpoint.tensor(file.name, record.name);
    tensors.emplace(record.name, data::to_tensor(tensor.tensor, tensor.owner));
  }
  return tensors;
}

// The model's tensors, and all others together, whoever wrote them.
struct Loaded {
  nn::NamedState model;
  Tensors training;
};

Loaded load(const checkpoint::Checkpoint& checkpoint) {
  Loaded loaded;
  for (const auto& file : checkpoint.manifest().files) {
    Tensors tensors = tensors_of(checkpoint, file);
    if (file.name == checkpoint::kModelFile) {
      loaded.model.assign(tensors.begin(), tensors.end());
    } else {
      loaded.training.merge(tensors);
    }
  }
  return loaded;
}

}  // namespace

bool Best::observe(double observed, std::int64_t now) {
  const bool is_better =
      !std::isnan(observed) && (!value || (larger_is_better(metric) ? observed > *value : observed < *value));
  if (!is_better) {
    ++since;
    return false;
  }
  value = observed;
  epoch = now;
  since = 0;
  return true;
}

Snapshot snapshot_of(const Resumable& parts, const Standing& standing) {
  Snapshot snapshot;
  checkpoint::Manifest& manifest = snapshot.manifest;
  manifest.step = standing.step;
  manifest.epoch = standing.epoch;
  manifest.ranks = parts.group.size();
  const data::SamplerState sampler = parts.source.state();
  const bool is_between = standing.step_of_epoch == 0;
  manifest.integers = {{"step_of_epoch", standing.step_of_epoch},
                       {"steps_of_epoch", parts.steps_of_epoch},
                       {"sampler.seed", static_cast<std::int64_t>(sampler.seed)},
                       {"sampler.position", is_between ? 0 : sampler.position}};
  manifest.numbers = standing.metrics;
  add_named(manifest.numbers, "sums.", standing.sums.over(parts.group).state());
  add_named(manifest.numbers, "schedule.", parts.rate.state());
  save_best(standing.kept, "kept", manifest);
  save_best(standing.patience, "patience", manifest);
  auto random = random_state(parts.group, parts.device);
  StepState step = parts.step.state();
  snapshot.own = std::move(step.own);
  if (parts.group.rank() != 0) return snapshot;
  for (const auto& [name, tensor] : nn::state_of_model(*parts.step.model())) snapshot.model.emplace(name, tensor);
  snapshot.training = std::move(step.shared);
  snapshot.training.merge(random);
  if (parts.average != nullptr) add_named(snapshot.training, "ema/", parts.average->state());
  manifest.texts.merge(step.texts);
  return snapshot;
}

void restore(const Resumable& parts, Standing& standing, const checkpoint::Checkpoint& checkpoint) {
  const checkpoint::Manifest& manifest = checkpoint.manifest();
  const Loaded loaded = load(checkpoint);
  if (loaded.training.empty()) {
    throw UsageError({.message = fmt::format("'{}' has weights alone: there is no training to go on with",
                                             checkpoint.folder().string()),
                      .next = fmt::format("begin with these weights: --pretrained {}", checkpoint.folder().string())});
  }
  nn::load_state(*parts.step.model(), loaded.model);
  parts.step.load_state({.shared = loaded.training, .own = {}, .texts = manifest.texts});
  if (parts.average != nullptr) parts.average->load_state(part_named(loaded.training, "ema/"));
  parts.rate.load_state(part_named(manifest.numbers, "schedule."));
  if (manifest.ranks == parts.group.size()) load_random_state(loaded.training, parts.group.id(), parts.device);
  standing.step = manifest.step;
  standing.epoch = manifest.epoch;
  // Other ranks with the same batch each take another number of steps for the same samples.
  standing.step_of_epoch = integer_at(manifest, "step_of_epoch") * parts.steps_of_epoch /
                           std::max<std::int64_t>(integer_at(manifest, "steps_of_epoch"), 1);
  standing.sums.load(part_named(manifest.numbers, "sums."));
  if (parts.group.rank() != 0) standing.sums = MetricSums(standing.sums.top, standing.sums.steps);
  load_best(standing.kept, "kept", manifest);
  load_best(standing.patience, "patience", manifest);
  parts.source.restore({.seed = static_cast<std::uint64_t>(integer_at(manifest, "sampler.seed")),
                        .epoch = standing.epoch,
                        .position = integer_at(manifest, "sampler.position")});
}

}  // namespace lockstep::train
