#include <lockstep/train/evaluate.h>

#include <chrono>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/zeros.h>

#include <lockstep/amp/autocast.h>
#include <lockstep/amp/prepare.h>
#include <lockstep/base/errors.h>
#include <lockstep/nn/losses.h>

#include "metric_sums.h"

namespace lockstep::train {
namespace {

using Clock = std::chrono::steady_clock;

// A module in evaluation mode, until its end; then each part is in the mode that it had.
class Evaluating {
 public:
  explicit Evaluating(torch::nn::Module& module) {
    for (const auto& part : module.modules()) training_.emplace_back(part, part->is_training());
    module.eval();
  }
  ~Evaluating() {
    // Those inside come later, and have the last word.
    for (const auto& [part, was_training] : training_) part->train(was_training);
  }
  Evaluating(const Evaluating&) = delete;
  Evaluating& operator=(const Evaluating&) = delete;

 private:
  std::vector<std::pair<std::shared_ptr<torch::nn::Module>, bool>> training_;
};

// Row by row: the classes that samples have, and that the model takes them for.
at::Tensor count_confusion(const at::Tensor& outputs, const at::Tensor& targets) {
  const std::int64_t classes = outputs.size(1);
  return at::bincount(targets * classes + outputs.argmax(1), {}, classes * classes);
}

at::Tensor outputs_of(nn::Model& model, const at::Tensor& samples, const EvaluationOptions& options) {
  const amp::Autocast autocast(options.device.type(), options.precision);
  return mean_over_views(options.views, samples, [&](const at::Tensor& input) {
    return amp::cast_output(model.forward(amp::cast_input(input, options.precision)));
  });
}

}  // namespace

at::Tensor exact_cross_entropy(const at::Tensor& outputs, const at::Tensor& targets) {
  return nn::cross_entropy(outputs.to(at::kDouble), targets);
}

Metrics evaluate(nn::Model& model, data::BatchSource& source, const Group& group, const EvaluationOptions& options) {
  if (!options.loss) throw UsageError("an evaluation needs a loss");
  const auto began = Clock::now();
  const Evaluating evaluating(model);
  const at::NoGradGuard no_gradients;
  const auto tops = static_cast<std::int64_t>(options.top.size());
  at::Tensor sums = at::zeros({1 + tops}, at::TensorOptions(at::kDouble).device(options.device));
  at::Tensor confusion = at::zeros({options.confusion ? model.num_classes() * model.num_classes() : 0},
                                   at::TensorOptions(at::kLong).device(options.device));
  MetricSums total(options.top);
  source.set_epoch(0);
  while (const auto batch = source.next()) {
    ++total.steps;
    const std::int64_t samples = batch->data.size(0);
    if (samples == 0) continue;  // a rank that has no part in the last batch
    const at::Tensor targets = batch->target.to(options.device);
    const at::Tensor outputs = outputs_of(model, batch->data.to(options.device), options);
    sums[0].add_(options.loss(outputs, targets), static_cast<double>(samples));
    if (tops > 0) sums.slice(0, 1).add_(nn::count_correct(outputs, targets, options.top));
    if (options.confusion) confusion.add_(count_confusion(outputs, targets));
    total.samples += samples;
  }
  const at::Tensor values = sums.to(at::kCPU);
  total.loss = values[0].item<double>();
  for (std::int64_t i = 0; i < tops; ++i) {
    total.correct[static_cast<std::size_t>(i)] = values[i + 1].item<double>();
  }
  Metrics metrics = total.over(group).averages();
  if (options.confusion) {
    confusion = confusion.to(at::kCPU);
    group.all_reduce(confusion);
    const auto* const counts = confusion.const_data_ptr<std::int64_t>();
    metrics.confusion.assign(counts, counts + confusion.numel());
  }
  metrics.seconds = group.all_reduce_value(std::chrono::duration<double>(Clock::now() - began).count(), Reduce::kMax);
  metrics.samples_per_second = static_cast<double>(metrics.samples) / metrics.seconds;
  return metrics;
}

}  // namespace lockstep::train
