#include "tensorboard_log.h"

#include <charconv>
#include <exception>
#include <optional>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <lockstep/base/in_short.h>
#include <lockstep/base/log.h>

#include "confusion_picture.h"

namespace lockstep::train {
namespace {

using tensorboard::HparamValue;

// What is nice to have ends no training.
template <typename Function>
void try_to_add(const char* what, const Function& add) {
  try {
    add();
  } catch (const std::exception& error) {
    log::warning("TensorBoard gets no {}: {}", what, in_short(error));
  }
}

HparamValue hparam_of(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size()) return number;
  return text;
}

tensorboard::SummaryWriterOptions writer_options(std::int64_t step) {
  tensorboard::SummaryWriterOptions options{.flush_interval = std::chrono::seconds(10)};
  if (step > 0) options.purge_step = step + 1;
  return options;
}

// From 0 to 1 each: what a normalization made of a picture has no range of its own.
at::Tensor stretched(const at::Tensor& pictures) {
  const at::Tensor least = pictures.amin({1, 2, 3}, /*keepdim=*/true);
  return (pictures - least) / (pictures.amax({1, 2, 3}, /*keepdim=*/true) - least).clamp_min(1e-6);
}

}  // namespace

bool wants_tensorboard(const TensorboardKeys& keys) {
  return keys.loss || keys.accuracy || keys.learning_rate || keys.loss_scale || keys.throughput || keys.data_wait ||
         keys.communication || keys.gradient_norm || keys.histograms_every > 0 || keys.graph || keys.images > 0 ||
         keys.confusion_matrix || keys.hparams;
}

TensorboardLog::TensorboardLog(const TensorboardKeys& keys, Run run, Trainer& trainer, const KeptSamples& samples)
    : keys_(keys),
      run_(std::move(run)),
      trainer_(trainer),
      samples_(samples),
      writer_(run_.folder, writer_options(trainer.step())) {}

void TensorboardLog::on_epoch_begin(std::int64_t /*epoch*/, std::int64_t /*steps*/) {
  if (keys_.graph && !std::exchange(has_graph_, true)) try_to_add("graph", [&] { add_graph(); });
}

void TensorboardLog::on_steps(const StepReport& report) {
  if (keys_.images > 0 && !std::exchange(has_images_, true)) try_to_add("images", [&] { add_images(report.step); });
  if (!report.is_due) return;
  const Metrics& recent = report.recent;
  add_metrics("train", recent, report.step);
  if (keys_.learning_rate) writer_.add_scalar("learning_rate", report.learning_rate, report.step);
  const amp::GradScaler& scaler = trainer_.training_step().scaler();
  if (keys_.loss_scale && scaler.enabled()) writer_.add_scalar("loss_scale", scaler.loss_scale(), report.step);
  if (keys_.throughput) writer_.add_scalar("time/samples_per_second", recent.samples_per_second, report.step);
  if (keys_.data_wait) writer_.add_scalar("time/data_wait", recent.split.data, report.step);
  if (keys_.communication && recent.split.communication) {
    writer_.add_scalar("time/communication", *recent.split.communication, report.step);
  }
  if (recent.gradient_norm) writer_.add_scalar("gradient_norm", *recent.gradient_norm, report.step);
}

void TensorboardLog::on_epoch(const EpochReport& report) {
  add_metrics("train-epoch", report.train, report.step);
  if (report.test) {
    add_metrics("test", *report.test, report.step);
    if (!report.test->confusion.empty())
      try_to_add("confusion matrix", [&] { add_confusion(*report.test, report.step); });
  }
  if (keys_.histograms_every > 0 && report.epoch % keys_.histograms_every == 0) add_histograms(report.step);
}

void TensorboardLog::on_end(const TrainingResult& result) {
  if (keys_.hparams && result.last) try_to_add("hparams", [&] { add_hparams(result); });
  writer_.close();
}

void TensorboardLog::add_metrics(const std::string& split, const Metrics& metrics, std::int64_t step) {
  if (keys_.loss) writer_.add_scalar("loss/" + split, metrics.loss, step);
  if (!keys_.accuracy) return;
  for (const auto& [name, value] : metrics.accuracy) writer_.add_scalar(name + "/" + split, value, step);
}

void TensorboardLog::add_graph() {
  nn::Model& model = *trainer_.training_step().model();
  std::vector<std::int64_t> shape = model.input_shape();
  shape.insert(shape.begin(), 1);
  const at::Tensor weight = model.parameters().at(0);
  writer_.add_graph(model, at::zeros(shape, weight.options().requires_grad(false)));
}

void TensorboardLog::add_images(std::int64_t step) {
  const at::Tensor& pictures = samples_.first();
  if (!pictures.defined() || pictures.dim() != 4) return;
  writer_.add_images("samples", stretched(pictures.to(at::kCPU, at::kFloat)), step);
}

void TensorboardLog::add_histograms(std::int64_t step) {
  const at::NoGradGuard no_gradients;
  for (const auto& parameter : trainer_.training_step().model()->named_parameters()) {
    try_to_add("histogram", [&] { writer_.add_histogram("weights/" + parameter.key(), parameter.value(), step); });
  }
}

void TensorboardLog::add_confusion(const Metrics& test, std::int64_t step) {
  writer_.add_image("confusion/test", confusion_picture(test.confusion), step);
  if (const auto table = confusion_table(test.confusion, run_.classes)) {
    writer_.add_text("confusion/test", *table, step);
  }
}

// What was written in the config, beside what came of it.
void TensorboardLog::add_hparams(const TrainingResult& result) {
  tensorboard::Hparams hparams;
  for (const config::Setting& setting : run_.settings) {
    if (setting.place && setting.shapes_training) hparams[setting.path] = hparam_of(setting.value);
  }
  std::map<std::string, double> metrics = {{"hparam/train.loss", result.last->train.loss},
                                           {"hparam/samples_per_second", result.last->train.samples_per_second}};
  if (const auto& test = result.last->test) {
    metrics["hparam/test.loss"] = test->loss;
    for (const auto& [name, value] : test->accuracy) metrics["hparam/test." + name] = value;
  }
  writer_.add_hparams(hparams, metrics, result.steps, {.run_name = "hparams"});
}

}  // namespace lockstep::train
