#include "metric_sums.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <lockstep/base/errors.h>

namespace lockstep::train {
namespace {

std::string name_of(std::int64_t top) {
  return fmt::format("top{}", top);
}

}  // namespace

std::optional<double> find_metric(const Metrics& metrics, const std::string& name) {
  if (name == "loss") return metrics.loss;
  const auto found = metrics.accuracy.find(name);
  return found == metrics.accuracy.end() ? std::nullopt : std::optional(found->second);
}

void MetricSums::add(const StepTotals& totals) {
  loss += totals.loss;
  for (std::size_t i = 0; i < correct.size(); ++i) correct[i] += totals.correct.at(i);
  samples += totals.samples;
  steps += totals.steps;
  gradient_norms += totals.gradient_norms;
  measured_steps += totals.measured_steps;
}

void MetricSums::add(const MetricSums& other) {
  add(StepTotals{.loss = other.loss,
                 .correct = other.correct,
                 .samples = other.samples,
                 .steps = other.steps,
                 .gradient_norms = other.gradient_norms,
                 .measured_steps = other.measured_steps});
}

MetricSums MetricSums::over(const Group& group) const {
  at::Tensor values = at::empty({static_cast<std::int64_t>(2 + correct.size())}, at::kDouble);
  auto* const at = values.mutable_data_ptr<double>();
  at[0] = loss;
  at[1] = static_cast<double>(samples);
  std::copy(correct.begin(), correct.end(), at + 2);
  group.all_reduce(values);
  MetricSums result(top);
  result.loss = at[0];
  result.samples = static_cast<std::int64_t>(at[1]);
  std::copy(at + 2, at + 2 + correct.size(), result.correct.begin());
  result.steps = steps;
  result.gradient_norms = gradient_norms;
  result.measured_steps = measured_steps;
  return result;
}

Metrics MetricSums::averages() const {
  Metrics metrics{.samples = samples, .steps = steps};
  if (measured_steps > 0) metrics.gradient_norm = gradient_norms / static_cast<double>(measured_steps);
  if (samples == 0) return metrics;
  const auto count = static_cast<double>(samples);
  metrics.loss = loss / count;
  for (std::size_t i = 0; i < top.size(); ++i) metrics.accuracy[name_of(top[i])] = correct[i] / count;
  return metrics;
}

std::map<std::string, double> MetricSums::state() const {
  std::map<std::string, double> state = {
      {"loss", loss}, {"samples", static_cast<double>(samples)}, {"steps", static_cast<double>(steps)}};
  for (std::size_t i = 0; i < top.size(); ++i) state[name_of(top[i])] = correct[i];
  return state;
}

void MetricSums::load(const std::map<std::string, double>& state) {
  const auto value = [&](const std::string& name) {
    const auto found = state.find(name);
    if (found == state.end()) throw UsageError(fmt::format("the sums of the epoch lack '{}'", name));
    return found->second;
  };
  loss = value("loss");
  samples = static_cast<std::int64_t>(value("samples"));
  steps = static_cast<std::int64_t>(value("steps"));
  for (std::size_t i = 0; i < top.size(); ++i) correct[i] = value(name_of(top[i]));
}

}  // namespace lockstep::train
