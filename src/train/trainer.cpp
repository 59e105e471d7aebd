#include <lockstep/train/trainer.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/checkpoint/checkpoint.h>
#include <lockstep/gpu/device.h>
#include <lockstep/gpu/ranges.h>
#include <lockstep/gpu/work_stream.h>
#include <lockstep/nn/losses.h>
#include <lockstep/parallel/not_finite_error.h>
#include <lockstep/parallel/sync.h>
#include <lockstep/train/evaluate.h>
#include <lockstep/train/step_trace.h>

#include "checkpointer.h"
#include "random_state.h"
#include "step_watch.h"
#include "together.h"
#include "trainer_state.h"

namespace lockstep::train {
namespace {

using Clock = std::chrono::steady_clock;

// "test.top5": of which set, and what.
void require_metric(const std::string& name, const TrainerOptions& options, bool has_test, const char* who) {
  const auto dot = name.find('.');
  const std::string split = name.substr(0, dot), what = dot == std::string::npos ? "" : name.substr(dot + 1);
  bool is_known = what == "loss";
  for (const std::int64_t top : options.step.count_top) is_known = is_known || what == fmt::format("top{}", top);
  if (!is_known || (split != "train" && split != "test")) {
    throw UsageError({.message = fmt::format("{} waits for a metric that does not exist", who),
                      .found = name,
                      .expected = "train.loss, test.loss, test.top1 or the like"});
  }
  if (split == "test" && !has_test) {
    throw UsageError({.message = fmt::format("{} waits for a metric of the test set", who),
                      .found = name + ", and no test set",
                      .next = "give one, or take a metric of training"});
  }
}

void require_fitting(const TrainerOptions& options, bool has_test) {
  if (options.epochs < 1 && options.steps < 1) throw UsageError("training takes at least 1 epoch or 1 step");
  if (options.log_every < 1) throw UsageError("the log has a line every 1 step or more");
  const auto& checkpoint = options.checkpoint;
  for (const std::int64_t number : {options.epochs, options.steps, options.steps_per_epoch, options.evaluate_every,
                                    options.stop.patience, checkpoint.every_epochs, checkpoint.every_steps}) {
    if (number < 0) throw UsageError(fmt::format("a number of epochs or steps is {}", number));
  }
  if (options.stop.accuracy) require_metric("test.top1", options, has_test, "the accuracy to stop at");
  if (options.stop.patience > 0) require_metric(options.stop.metric, options, has_test, "patience");
  if (options.schedule.plateau()) require_metric(options.schedule_metric, options, has_test, "the plateau");
}

TrainerOptions completed(TrainerOptions options, bool has_test) {
  options.step.device = gpu::with_index(options.step.device);
  if (!options.step.loss && options.step.count_top.empty()) options.step.count_top = {1, 5};
  if (!options.test_loss) options.test_loss = options.step.loss;
  if (!options.test_loss) options.test_loss = exact_cross_entropy;
  auto& keep = options.checkpoint.keep;
  keep.larger_is_better = larger_is_better(keep.metric);
  require_fitting(options, has_test);
  return options;
}

gpu::Ranges::Options outer_ranges(const TrainingStepOptions& step) {
  gpu::Ranges::Options ranges = step.ranges;
  if (ranges.detail == gpu::RangeDetail::kOperators) ranges.detail = gpu::RangeDetail::kSteps;
  ranges.device = step.device;
  return ranges;
}

// "test.top1" of an epoch.
std::map<std::string, double> named(const EpochReport& report) {
  std::map<std::string, double> result;
  const auto add = [&](const std::string& split, const Metrics& metrics) {
    result[split + ".loss"] = metrics.loss;
    for (const auto& [name, value] : metrics.accuracy) result[split + "." + name] = value;
  };
  add("train", report.train);
  if (report.test) add("test", *report.test);
  return result;
}

}  // namespace

class Trainer::Implementation {
 public:
  Implementation(std::shared_ptr<nn::Model> model, data::BatchSource& train, data::BatchSource* test,
                 const Group& group, const TrainerOptions& options)
      : options_(completed(options, test != nullptr)),
        group_(group),
        source_(train),
        test_(test),
        ranges_(outer_ranges(options_.step)),
        step_(std::move(model), group_, options_.step),
        rate_(options_.schedule, options_.rate),
        standing_{.sums = MetricSums(options_.step.count_top),
                  .kept = {.metric = options_.checkpoint.keep.metric},
                  .patience = {.metric = options_.stop.metric}},
        watch_(step_, group_, options_.step.count_top, options_.log_every) {
    require_views(options_.test_views, step_.model()->input_shape());
    if (options_.average) average_.emplace(step_.model(), *options_.average);
    if (options_.traced_steps) {
      trace_.emplace(group_,
                     StepTraceOptions{
                         .steps = *options_.traced_steps, .file = options_.trace_file, .device = options_.step.device});
    }
    if (!options_.checkpoint.folder.empty()) checkpointer_.emplace(group_, options_.checkpoint);
    if (options_.seed) seed_random(*options_.seed, 0, group_.id());
    source_.set_epoch(0);
  }

  void add(std::shared_ptr<Callback> callback) { callbacks_.push_back(std::move(callback)); }

  TrainingResult train() {
    TrainingResult result;
    result.outcome = run(result);
    if (trace_) trace_->finish();
    const bool must_save = result.outcome == Outcome::kInterrupted || options_.checkpoint.at_end;
    if (checkpointer_ && must_save && saved_at_ != standing_.step) save_checkpoint();
    const auto written = checkpointer_ ? checkpointer_->finish() : Checkpointer::Written();
    if (written.last_good) result.checkpoint = options_.checkpoint.folder / std::to_string(*written.last_good);
    result.steps = standing_.step;
    result.epochs = standing_.epoch;
    result.training_seconds = group_.all_reduce_value(watch_.all_times().total.count(), Reduce::kMax);
    for (const auto& callback : callbacks_) callback->on_end(result);
    if (must_save && !written.problem.empty()) {
      throw unwritten(standing_.step, written.problem, written.last_good.has_value());
    }
    return result;
  }

  Metrics train_one_epoch() {
    std::optional<gpu::ProfiledPart> profiled;
    if (options_.profiled_epoch == standing_.epoch + 1) profiled.emplace(options_.step.device);
    begin_epoch();
    const auto began = Clock::now();
    const std::int64_t steps = steps_of_epoch();
    while (!has_all_steps() && !is_cut_short()) {
      if (trace_) trace_->reach(standing_.step);
      const auto range = ranges_.range("iteration");
      const auto batches = next_batches();
      if (batches.empty()) break;
      run_step(batches);
      const bool is_last = standing_.step_of_epoch == steps || has_all_steps();
      if (watch_.is_time(standing_.step) || is_last || is_due_for_checkpoint()) look(steps);
      if (has_all_steps()) stopped_ = false;  // there is nothing left to stop
      if (stopped_) {
        has_begun_ = true;
        return standing_.sums.over(group_).averages();
      }
      if (is_due_for_checkpoint() && !is_last) save_checkpoint();
    }
    if (trace_) trace_->reach(standing_.step);
    look(steps);
    return end_epoch(began, steps);
  }

  Metrics validate_one_epoch() {
    if (test_ == nullptr) throw UsageError("there is no test set to validate on");
    gpu::finish(options_.step.device);
    const auto range = ranges_.range("evaluation");
    std::optional<optim::ExponentialMovingAverage::InUse> averaged;
    if (average_ && options_.evaluate_average) averaged.emplace(*average_);
    // Every rank judges one and the same model: running statistics are each rank's own.
    std::vector<at::Tensor> buffers;
    for (const auto& buffer : step_.model()->named_buffers()) buffers.push_back(buffer.value());
    if (!buffers.empty()) broadcast_tensors(buffers, group_);
    return evaluate(*step_.model(), *test_, group_,
                    {.loss = options_.test_loss,
                     .device = options_.step.device,
                     .precision = options_.step.precision,
                     .top = options_.step.count_top,
                     .confusion = options_.count_confusion,
                     .views = options_.test_views});
  }

  std::filesystem::path save_checkpoint() {
    if (!checkpointer_) throw UsageError("there is no folder for checkpoints");
    const auto range = ranges_.range("checkpoint");
    standing_.sums.add(watch_.take_sums(standing_.step));  // a loss that is not finite is not saved
    const auto began = Clock::now();
    Snapshot snapshot = snapshot_of(parts(), standing_);
    snapshot.manifest.texts.insert(options_.checkpoint.texts.begin(), options_.checkpoint.texts.end());
    const auto folder = checkpointer_->save(snapshot);
    saved_at_ = standing_.step;
    for (const auto& callback : callbacks_) callback->on_checkpoint(folder);
    watch_.leave_out(Clock::now() - began);
    return folder;
  }

  void restore_checkpoint(const std::filesystem::path& folder) {
    std::int64_t ranks = 0;
    together(group_, [&] {
      const checkpoint::Checkpoint checkpoint(folder);
      restore(parts(), standing_, checkpoint);
      ranks = checkpoint.manifest().ranks;
    });
    if (ranks != group_.size() && options_.seed) seed_random(*options_.seed, standing_.step, group_.id());
    has_begun_ = standing_.step_of_epoch > 0;
    std::error_code error;
    if (checkpointer_ && std::filesystem::equivalent(folder / "..", options_.checkpoint.folder, error)) {
      checkpointer_->go_on_from(standing_.step);
      saved_at_ = standing_.step;
    }
  }

  void request_stop() noexcept { stop_requested_.store(true, std::memory_order_relaxed); }
  bool stopped() const { return stopped_; }
  std::int64_t step() const { return standing_.step; }
  std::int64_t epoch() const { return standing_.epoch; }
  TrainingStep& training_step() { return step_; }

 private:
  Resumable parts() {
    return {.step = step_,
            .average = average_ ? &*average_ : nullptr,
            .rate = rate_,
            .source = source_,
            .group = group_,
            .device = options_.step.device,
            .steps_of_epoch = steps_of_epoch()};
  }

  bool has_all_steps() const { return options_.steps > 0 && standing_.step >= options_.steps; }
  bool is_cut_short() const {
    return options_.steps_per_epoch > 0 && standing_.step_of_epoch >= options_.steps_per_epoch;
  }
  bool is_done() const { return (options_.epochs > 0 && standing_.epoch >= options_.epochs) || has_all_steps(); }

  std::int64_t steps_of_epoch() const {
    const std::int64_t batches = source_.batches(), each = options_.step.accumulation;
    const std::int64_t steps = options_.step.mode == Mode::kOptimizer ? batches / each : (batches + each - 1) / each;
    return options_.steps_per_epoch > 0 ? std::min(steps, options_.steps_per_epoch) : steps;
  }

  bool is_due_for_checkpoint() const {
    const std::int64_t every = options_.checkpoint.every_steps;
    return checkpointer_ && every > 0 && standing_.step % every == 0 && saved_at_ != standing_.step;
  }

  Outcome run(TrainingResult& result) {
    while (!is_done()) {
      EpochReport report{.train = train_one_epoch(), .learning_rate = rate_.rate()};
      if (stopped_) return Outcome::kInterrupted;
      report.step = standing_.step;
      report.epoch = standing_.epoch + (has_begun_ ? 1 : 0);
      const bool is_time = options_.evaluate_every > 0 && standing_.epoch % options_.evaluate_every == 0;
      if (test_ != nullptr && (is_time || is_done())) report.test = validate_one_epoch();
      if (const auto outcome = conclude(report, result)) return *outcome;
    }
    return Outcome::kFinished;
  }

  // What follows from an epoch: the rate, a checkpoint, perhaps the end.
  std::optional<Outcome> conclude(EpochReport& report, TrainingResult& result) {
    standing_.metrics = named(report);
    const auto find = [&](const std::string& name) -> std::optional<double> {
      const auto found = standing_.metrics.find(name);
      return found == standing_.metrics.end() ? std::nullopt : std::optional(found->second);
    };
    const bool is_whole = !has_begun_;  // a part of an epoch, where `steps` end the run, decides nothing
    const auto rate_metric = find(options_.schedule_metric), patience = find(standing_.patience.metric);
    if (is_whole && rate_metric) rate_.observe(*rate_metric);
    if (is_whole && patience) standing_.patience.observe(*patience, report.epoch);
    if (const auto value = find(standing_.kept.metric)) report.is_best = standing_.kept.observe(*value, report.epoch);
    result.last = report;
    if (report.is_best) result.best = report;
    const auto outcome = early_end(report);
    // Before the checkpoint: what is told here comes again when training goes on from an earlier one, and not twice.
    for (const auto& callback : callbacks_) callback->on_epoch(report);
    const std::int64_t every = options_.checkpoint.every_epochs;
    const bool is_due = is_whole && every > 0 && standing_.epoch % every == 0;
    const bool is_end = (outcome || is_done()) && options_.checkpoint.at_end;
    if (checkpointer_ && (is_due || is_end || is_due_for_checkpoint())) save_checkpoint();
    standing_.metrics.clear();
    return outcome;
  }

  std::optional<Outcome> early_end(const EpochReport& report) const {
    const auto top1 = report.test ? find_metric(*report.test, "top1") : std::nullopt;
    if (options_.stop.accuracy && top1 && *top1 >= *options_.stop.accuracy) return Outcome::kTargetReached;
    const std::int64_t patience = options_.stop.patience;
    if (patience > 0 && standing_.patience.since >= patience) return Outcome::kNoProgress;
    return std::nullopt;
  }

  void begin_epoch() {
    stopped_ = false;
    if (!std::exchange(has_begun_, false)) {
      source_.set_epoch(standing_.epoch);
      standing_.step_of_epoch = 0;
      standing_.sums = MetricSums(options_.step.count_top);
      if (options_.broadcast_each_epoch) broadcast_all();
    }
    const std::int64_t steps = steps_of_epoch();
    if (steps == 0) throw UsageError("the training set is smaller than one step");
    for (const auto& callback : callbacks_) callback->on_epoch_begin(standing_.epoch + 1, steps);
    watch_.begin_epoch(standing_.step, steps);
  }

  void broadcast_all() {
    sync_parameters(step_.model(), group_);
    if (step_.master_weights()->has_copies()) broadcast_tensors(step_.master_weights()->parameters(), group_);
  }

  Metrics end_epoch(Clock::time_point began, std::int64_t steps) {
    Metrics metrics = standing_.sums.over(group_).averages();
    const StepTimes times = watch_.epoch_times().over(group_);
    metrics.samples_per_second = times.samples_per_second();
    metrics.split = times.split();
    metrics.seconds = group_.all_reduce_value(Seconds(Clock::now() - began).count(), Reduce::kMax);
    has_begun_ = standing_.step_of_epoch < steps && has_all_steps();  // the run may go on some day
    if (has_begun_) return metrics;
    standing_.step_of_epoch = 0;
    standing_.sums = MetricSums(options_.step.count_top);
    ++standing_.epoch;
    return metrics;
  }

  // As many as a step accumulates, or what is left of the epoch.
  std::vector<data::Batch> next_batches() {
    const auto range = ranges_.range("data");
    const auto began = Clock::now();
    std::vector<data::Batch> batches;
    for (int i = 0; i < options_.step.accumulation; ++i) {
      auto batch = source_.next();
      if (!batch) break;
      batch->data = batch->data.to(options_.step.device, /*non_blocking=*/true);
      batch->target = batch->target.to(options_.step.device, /*non_blocking=*/true);
      batches.push_back(std::move(*batch));
    }
    // Of an incomplete last step, mode optimizer cannot make anything.
    if (options_.step.mode == Mode::kOptimizer && std::ssize(batches) < options_.step.accumulation) batches.clear();
    watch_.count_wait(Clock::now() - began);
    return batches;
  }

  void run_step(const std::vector<data::Batch>& batches) {
    rate_.move_to({.step = standing_.step,
                   .epoch = static_cast<double>(standing_.epoch) +
                            static_cast<double>(standing_.step_of_epoch) / static_cast<double>(steps_of_epoch())});
    for (auto& group : step_.optimizer().param_groups()) group.options().set_lr(rate_.rate());
    try {
      step_.run(batches);
    } catch (const parallel::NotFiniteError& error) {
      ErrorParts parts = error.parts();
      parts.message += fmt::format(" in step {}", standing_.step + 1);
      parts.next = "a lower learning rate, a warm-up or clipping often help; look at the samples of this step too";
      throw RuntimeError(parts);
    }
    if (average_) average_->update();
    ++standing_.step;
    ++standing_.step_of_epoch;
  }

  void look(std::int64_t steps) {
    standing_.sums.add(watch_.take_sums(standing_.step));
    const auto notes = watch_.compare(standing_.step, stop_requested_.load(std::memory_order_relaxed));
    if (!notes) return;
    stopped_ = notes->stop;
    if (stopped_) stop_requested_.store(false, std::memory_order_relaxed);
    if (checkpointer_) checkpointer_->poll();
    std::int64_t left = std::numeric_limits<std::int64_t>::max();
    if (options_.epochs > 0) left = (options_.epochs - standing_.epoch) * steps - standing_.step_of_epoch;
    if (options_.steps > 0) left = std::min(left, options_.steps - standing_.step);
    const StepReport report{.step = standing_.step,
                            .epoch = standing_.epoch + 1,
                            .step_of_epoch = standing_.step_of_epoch,
                            .steps_of_epoch = steps,
                            .recent = watch_.recent(),
                            .learning_rate = rate_.rate(),
                            .seconds_left = notes->each.count() * static_cast<double>(left),
                            .is_due = watch_.is_due(standing_.step)};
    if (report.is_due) watch_.begin_report();
    for (const auto& callback : callbacks_) callback->on_steps(report);
  }

  const TrainerOptions options_;
  const Group group_;
  data::BatchSource& source_;
  data::BatchSource* const test_;
  gpu::Ranges ranges_;
  TrainingStep step_;
  optim::LearningRate rate_;
  std::optional<optim::ExponentialMovingAverage> average_;
  std::optional<Checkpointer> checkpointer_;
  std::optional<StepTrace> trace_;
  std::vector<std::shared_ptr<Callback>> callbacks_;

  Standing standing_;
  bool has_begun_ = false;                // a checkpoint from the middle of an epoch was restored
  std::optional<std::int64_t> saved_at_;  // the step of the last checkpoint

  StepWatch watch_;
  std::atomic<bool> stop_requested_ = false;
  bool stopped_ = false;
};

Trainer::Trainer(std::shared_ptr<nn::Model> model, data::BatchSource& train, data::BatchSource* test,
                 const Group& group, const TrainerOptions& options)
    : implementation_(std::make_unique<Implementation>(std::move(model), train, test, group, options)) {}

Trainer::~Trainer() = default;

void Trainer::add(std::shared_ptr<Callback> callback) {
  implementation_->add(std::move(callback));
}

TrainingResult Trainer::train() {
  return implementation_->train();
}

Metrics Trainer::train_one_epoch() {
  return implementation_->train_one_epoch();
}

Metrics Trainer::validate_one_epoch() {
  return implementation_->validate_one_epoch();
}

std::filesystem::path Trainer::save_checkpoint() {
  return implementation_->save_checkpoint();
}

void Trainer::restore_checkpoint(const std::filesystem::path& folder) {
  implementation_->restore_checkpoint(folder);
}

void Trainer::request_stop() noexcept {
  implementation_->request_stop();
}

bool Trainer::stopped() const {
  return implementation_->stopped();
}

std::int64_t Trainer::step() const {
  return implementation_->step();
}

std::int64_t Trainer::epoch() const {
  return implementation_->epoch();
}

TrainingStep& Trainer::training_step() {
  return implementation_->training_step();
}

}  // namespace lockstep::train
