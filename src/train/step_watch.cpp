#include "step_watch.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "not_finite.h"

namespace lockstep::train {
namespace {

// How late a request to stop may be noticed, and how often the progress line moves.
constexpr Seconds kInterval(0.2);
// The first steps of a process, which plan buckets, choose algorithms and record graphs, do not count for its rate;
// where an epoch has few, half of them count all the same.
constexpr std::int64_t kStartUpSteps = 5;

}  // namespace

StepWatch::StepWatch(TrainingStep& step, Group group, std::vector<std::int64_t> top, std::int64_t log_every)
    : step_(step), group_(std::move(group)), log_every_(log_every), fresh_(top), recent_(std::move(top)) {}

void StepWatch::begin_epoch(std::int64_t step, std::int64_t steps_of_epoch) {
  epoch_times_ = {};
  start_up_ = std::min(kStartUpSteps, steps_of_epoch / 2);
  next_ = step + 1;
  waited_ = {};
  looked_at_ = Clock::now();
}

MetricSums StepWatch::take_sums(std::int64_t step) {
  const StepTotals totals = step_.take_totals();
  MetricSums own(fresh_.top);
  own.add(totals);
  const MetricSums all = own.over(group_);
  if (!std::isfinite(all.loss)) {
    const auto& scaler = step_.scaler();
    const auto scale = scaler.enabled() ? std::optional(scaler.loss_scale()) : std::nullopt;
    report_not_finite(*step_.model(), totals.loss, step, scale, group_);
  }
  fresh_.add(all);
  recent_.add(all);
  return own;
}

std::optional<StepWatch::Notes> StepWatch::compare(std::int64_t step, bool wants_stop) {
  const MetricSums all = std::exchange(fresh_, MetricSums(fresh_.top));
  if (all.steps == 0) return std::nullopt;
  const auto now = Clock::now();
  const auto exposed = step_.exposed();
  StepTimes own{.total = now - std::exchange(looked_at_, now),
                .data = std::exchange(waited_, Seconds{}),
                .steps = all.steps,
                .samples = static_cast<double>(all.samples)};
  if (exposed) own.communication = *exposed - std::exchange(exposed_before_, *exposed);
  process_steps_ += all.steps;
  const bool is_starting = process_steps_ <= start_up_;
  if (is_starting) {
    start_up_times_.add(own);
  } else {
    epoch_times_.add(own);
    all_times_.add(own);
  }
  const StepTimes times = own.over(group_);
  recent_times_.add(times);
  const Seconds each = times.total / static_cast<double>(all.steps);
  const auto until_next = static_cast<std::int64_t>(std::min(kInterval / each, 1e6));
  std::int64_t most = log_every_ - step % log_every_;
  if (process_steps_ < start_up_) most = std::min(most, start_up_ - process_steps_);
  next_ = step + std::clamp<std::int64_t>(until_next, 1, most);
  const std::int64_t wishes = group_.all_reduce_value(static_cast<std::int64_t>(wants_stop), Reduce::kMax);
  return Notes{.each = each, .stop = wishes > 0};
}

Metrics StepWatch::recent() const {
  Metrics metrics = recent_.averages();
  metrics.samples_per_second = recent_times_.samples_per_second();
  metrics.split = recent_times_.split();
  return metrics;
}

}  // namespace lockstep::train
