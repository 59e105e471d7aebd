#include <lockstep/tensorboard/summary_writer.h>

#include <mutex>
#include <utility>

#include <ATen/Functions.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/base/in_short.h>
#include <lockstep/base/log.h>

#include "embedding.h"
#include "figure_file.h"
#include "graph_event.h"
#include "module_graph.h"
#include "onnx_graph.h"
#include "pixels.h"
#include "run_set.h"
#include "summaries.h"
#include "tensors.h"

namespace lockstep::tensorboard {
namespace {

std::string time_as_name() {
  return fmt::format("{:.6f}",
                     std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count());
}

}  // namespace

// What was given to add_scalars(), for export.
class ScalarHistory {
 public:
  void add(const std::string& name, double value, const When& when) {
    const double time = seconds(when);
    const std::lock_guard lock(mutex_);
    history_[name].push_back({time, when.step ? nlohmann::json(*when.step) : nlohmann::json(), value});
  }

  void export_to(const std::filesystem::path& file) {
    const std::lock_guard lock(mutex_);
    files::write_atomically(file, history_.dump() + "\n");
    history_ = nlohmann::json::object();
  }

 private:
  std::mutex mutex_;
  nlohmann::json history_ = nlohmann::json::object();
};

class SummaryWriter::Implementation {
 public:
  Implementation(std::filesystem::path folder, const SummaryWriterOptions& options)
      : writes(options.ranks == WritingRanks::kEvery || options.rank.rank == 0),
        runs(std::move(folder), options, writes) {}

  const bool writes;
  RunSet runs;
  ScalarHistory history;
};

SummaryWriter::SummaryWriter(std::filesystem::path folder, const SummaryWriterOptions& options)
    : implementation_(std::make_unique<Implementation>(std::move(folder), options)) {}

SummaryWriter::~SummaryWriter() {
  try {
    close();
  } catch (const std::exception& error) {
    log::error("TensorBoard's events are not complete: {}", in_short(error));
  }
}

const std::filesystem::path& SummaryWriter::folder() const {
  return implementation_->runs.folder();
}

bool SummaryWriter::writes() const {
  return implementation_->writes;
}

void SummaryWriter::add_scalar(const std::string& tag, double value, const When& when) {
  if (writes()) implementation_->runs.add(scalar_summary(tag, value), when);
}

void SummaryWriter::add_scalars(const std::string& main_tag, const std::map<std::string, double>& values,
                                const When& when) {
  if (!writes()) return;
  // One time for all of them.
  const When at = when.time ? when : When(when.step, std::chrono::system_clock::now());
  for (const auto& [name, value] : values) {
    const std::string run = main_tag + "/" + name;
    implementation_->runs.add_to_run(run, scalar_summary(main_tag, value), at);
    implementation_->history.add((folder() / run).string(), value, at);
  }
}

void SummaryWriter::export_scalars_to_json(const std::filesystem::path& file) {
  if (writes()) implementation_->history.export_to(file);
}

void SummaryWriter::add_histogram(const std::string& tag, const at::Tensor& values, const When& when,
                                  const HistogramOptions& options) {
  if (!writes()) return;
  const at::Tensor row = flat(values, at::kDouble, "a histogram");
  implementation_->runs.add(histogram_summary(tag, numbers_of<double>(row), options), when);
}

void SummaryWriter::add_histogram_raw(const std::string& tag, const RawHistogram& histogram, const When& when) {
  if (writes()) implementation_->runs.add(histogram_summary(tag, histogram), when);
}

void SummaryWriter::add_image(const std::string& tag, const at::Tensor& image, const When& when,
                              const std::string& dataformats) {
  if (writes()) implementation_->runs.add(image_summary(tag, to_image(image, dataformats)), when);
}

void SummaryWriter::add_images(const std::string& tag, const at::Tensor& images, const When& when,
                               const std::string& dataformats) {
  add_image(tag, images, when, dataformats);
}

void SummaryWriter::add_image_with_boxes(const std::string& tag, const at::Tensor& image, const at::Tensor& boxes,
                                         const When& when, const BoxOptions& options) {
  if (!writes()) return;
  implementation_->runs.add(boxes_summary(tag, to_image(image, options.dataformats), to_boxes(boxes), options.labels),
                            when);
}

void SummaryWriter::add_figure(const std::string& tag, const at::Tensor& pixels, const When& when) {
  add_image(tag, pixels, when, pixels.defined() && pixels.dim() == 4 ? "NCHW" : "CHW");
}

void SummaryWriter::add_figure(const std::string& tag, const std::filesystem::path& file, const When& when) {
  if (!writes()) return;
  FigureFile figure = read_figure(file);
  implementation_->runs.add(image_summary(tag, figure.width, figure.height, 3, std::move(figure.png)), when);
}

void SummaryWriter::add_video(const std::string& tag, const at::Tensor& video, const When& when,
                              const VideoOptions& options) {
  if (writes()) implementation_->runs.add(video_summary(tag, to_frames(video, options.dataformats), options.fps), when);
}

void SummaryWriter::add_audio(const std::string& tag, const at::Tensor& sound, const When& when, int sample_rate) {
  if (!writes()) return;
  const at::Tensor samples = to_samples(sound);
  implementation_->runs.add(
      audio_summary(tag, numbers_of<std::int16_t>(samples), static_cast<int>(samples.size(1)), sample_rate), when);
}

void SummaryWriter::add_text(const std::string& tag, const std::string& text, const When& when) {
  if (writes()) implementation_->runs.add(text_summary(tag, text), when);
}

void SummaryWriter::add_graph(torch::nn::Module& module, const std::function<at::Tensor(const at::Tensor&)>& forward,
                              const at::Tensor& example) {
  if (!writes()) return;
  implementation_->runs.add(graph_event(module_graph(module, forward, example)), {});
  implementation_->runs.add(run_metadata_event(), {});
}

void SummaryWriter::add_onnx_graph(const std::filesystem::path& file) {
  if (writes()) implementation_->runs.add(onnx_graph_event(file), {});
}

void SummaryWriter::add_embedding(const at::Tensor& matrix, const When& when, const EmbeddingOptions& options) {
  if (!writes()) return;
  implementation_->runs.require_open();
  write_embedding(folder(), matrix, when.step.value_or(0), options);
}

void SummaryWriter::add_pr_curve(const std::string& tag, const at::Tensor& labels, const at::Tensor& predictions,
                                 const When& when, const PrCurveOptions& options) {
  if (!writes()) return;
  const at::Tensor truth = flat(labels, at::kDouble, "labels"), guess = flat(predictions, at::kDouble, "predictions");
  const at::Tensor weights =
      options.weights.defined() ? flat(options.weights, at::kDouble, "weights") : at::ones_like(truth);
  implementation_->runs.add(pr_curve_summary(tag, numbers_of<double>(truth), numbers_of<double>(guess),
                                             numbers_of<double>(weights), options.num_thresholds),
                            when);
}

void SummaryWriter::add_pr_curve_raw(const std::string& tag, const RawPrCurve& curve, const When& when) {
  if (!writes()) return;
  const auto row = [](const at::Tensor& tensor) { return values_of<double>(tensor, "a PR curve"); };
  implementation_->runs.add(
      pr_curve_summary(tag, {row(curve.true_positives), row(curve.false_positives), row(curve.true_negatives),
                             row(curve.false_negatives), row(curve.precision), row(curve.recall)}),
      when);
}

void SummaryWriter::add_mesh(const std::string& tag, const at::Tensor& vertices, const When& when,
                             const MeshOptions& options) {
  if (writes()) implementation_->runs.add(mesh_summary(tag, to_mesh(vertices, options)), when);
}

void SummaryWriter::add_hparams(const Hparams& hparams, const std::map<std::string, double>& metrics, const When& when,
                                const HparamOptions& options) {
  if (!writes()) return;
  const std::string run = options.run_name.empty() ? time_as_name() : options.run_name;
  for (const EventBody& event : hparams_summaries(hparams, metrics, options))
    implementation_->runs.add_to_run(run, event, {});
  for (const auto& [tag, value] : metrics) implementation_->runs.add_to_run(run, scalar_summary(tag, value), when);
  implementation_->runs.close_run(run);
}

void SummaryWriter::add_custom_scalars(const std::vector<CustomCategory>& layout) {
  if (writes()) implementation_->runs.add(custom_scalars_summary(layout), {});
}

void SummaryWriter::add_custom_scalars_multilinechart(const std::vector<std::string>& tags, const std::string& category,
                                                      const std::string& title) {
  add_custom_scalars({{.title = category, .charts = {{title, CustomChart::Kind::kMultiline, tags}}}});
}

void SummaryWriter::add_custom_scalars_marginchart(const std::vector<std::string>& tags, const std::string& category,
                                                   const std::string& title) {
  add_custom_scalars({{.title = category, .charts = {{title, CustomChart::Kind::kMargin, tags}}}});
}

void SummaryWriter::flush() {
  implementation_->runs.flush();
}

void SummaryWriter::close() {
  implementation_->runs.close();
}

}  // namespace lockstep::tensorboard
