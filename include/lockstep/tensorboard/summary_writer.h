// Event files for TensorBoard: what tensorboardX and torch.utils.tensorboard write in Python.
#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include <lockstep/tensorboard/options.h>
#include <lockstep/tensorboard/tensor_options.h>

namespace torch::nn {
class Module;
}

namespace lockstep::tensorboard {

// Writes one run. Calls convert their data, hand it to a thread that writes, and return; they may come from several
// threads. Tensors may be on any device and of any number type, and are not kept.
//
//   SummaryWriter writer("runs/first");
//   writer.add_scalar("loss", loss.item<double>(), step);
//   writer.close();
//
// Every call may throw UsageError: for a tensor of the wrong shape, for a tag that is empty or longer than 4,096 bytes.
// Nothing is written then, and the writer can be used further. Characters that TensorBoard's names do not have become
// "_", as they do in tensorboardX.
//
// In a job, ranks that do not write (WritingRanks) may make all calls: theirs return at once and touch no file.
//
// The file is whole after each write: a process that is killed at any moment leaves at most a part of one record at its
// end, where readers stop.
class SummaryWriter {
 public:
  // Makes the folder and an event file in it. Throws UsageError when it cannot.
  explicit SummaryWriter(std::filesystem::path folder, const SummaryWriterOptions& options = {});
  // Closes; errors go to the log.
  ~SummaryWriter();
  SummaryWriter(const SummaryWriter&) = delete;
  SummaryWriter& operator=(const SummaryWriter&) = delete;

  // Where this rank writes: the folder, or that of the rank in it.
  const std::filesystem::path& folder() const;
  bool writes() const;

  // NaN and infinities are written; TensorBoard marks them in the curve.
  void add_scalar(const std::string& tag, double value, const When& when = {});

  // Several curves in one chart: each is a run of its own, in the sub-folder MAIN_TAG/NAME.
  void add_scalars(const std::string& main_tag, const std::map<std::string, double>& values, const When& when = {});

  // Values that are not finite are left out, and the log says how many. Throws UsageError when none is left.
  void add_histogram(const std::string& tag, const at::Tensor& values, const When& when = {},
                     const HistogramOptions& options = {});
  void add_histogram_raw(const std::string& tag, const RawHistogram& histogram, const When& when = {});

  // Pixels are of type uint8, or numbers from 0 to 1; what lies outside is clipped. `dataformats` names the dimensions
  // in their order: CHW, HWC or HW; NCHW or NHWC for many images, which are laid out in rows of eight. There are 1, 3
  // or 4 channels.
  void add_image(const std::string& tag, const at::Tensor& image, const When& when = {},
                 const std::string& dataformats = "CHW");
  void add_images(const std::string& tag, const at::Tensor& images, const When& when = {},
                  const std::string& dataformats = "NCHW");

  // `boxes` has a row for each box: left, top, right, bottom, in pixels.
  void add_image_with_boxes(const std::string& tag, const at::Tensor& image, const at::Tensor& boxes,
                            const When& when = {}, const BoxOptions& options = {});

  // A drawing: pixels as of add_image(), or a PNG or SVG file. SVG needs the program rsvg-convert.
  void add_figure(const std::string& tag, const at::Tensor& pixels, const When& when = {});
  void add_figure(const std::string& tag, const std::filesystem::path& file, const When& when = {});

  // Frames of 1 or 3 channels, as an animated GIF: at most 256 colors for all frames together. Several videos (N > 1)
  // are laid out in a grid whose sides are powers of two.
  void add_video(const std::string& tag, const at::Tensor& video, const When& when = {},
                 const VideoOptions& options = {});

  // Samples from -1 to 1, what lies outside is clipped: one dimension, or frames x channels for one or two channels.
  void add_audio(const std::string& tag, const at::Tensor& sound, const When& when = {}, int sample_rate = 44100);

  // Markdown.
  void add_text(const std::string& tag, const std::string& text, const When& when = {});

  // The operations of one forward pass on `example`, traced in evaluation mode without gradients, grouped by the
  // modules whose parameters they use. `forward` is called once, on this thread.
  void add_graph(torch::nn::Module& module, const std::function<at::Tensor(const at::Tensor&)>& forward,
                 const at::Tensor& example);

  // The same for any module with a forward of one tensor.
  template <typename ModuleType>
  void add_graph(ModuleType& module, const at::Tensor& example) {
    add_graph(
        module, [&module](const at::Tensor& input) { return module.forward(input); }, example);
  }

  // The graph of an ONNX file.
  void add_onnx_graph(const std::filesystem::path& file);

  // Points for the projector: a row of `matrix` each. Writes files into STEP/TAG and adds to projector_config.pbtxt.
  void add_embedding(const at::Tensor& matrix, const When& when = {}, const EmbeddingOptions& options = {});

  // `labels` are 0 or 1, `predictions` probabilities; both of one size.
  void add_pr_curve(const std::string& tag, const at::Tensor& labels, const at::Tensor& predictions,
                    const When& when = {}, const PrCurveOptions& options = {});
  void add_pr_curve_raw(const std::string& tag, const RawPrCurve& curve, const When& when = {});

  // `vertices`: batch x points x 3.
  void add_mesh(const std::string& tag, const at::Tensor& vertices, const When& when = {},
                const MeshOptions& options = {});

  // The parameters of this run with what came out, as a run in a sub-folder.
  void add_hparams(const Hparams& hparams, const std::map<std::string, double>& metrics, const When& when = {},
                   const HparamOptions& options = {});

  // What the dashboard Custom Scalars shows. The last call counts.
  void add_custom_scalars(const std::vector<CustomCategory>& layout);
  void add_custom_scalars_multilinechart(const std::vector<std::string>& tags, const std::string& category = "default",
                                         const std::string& title = "untitled");
  void add_custom_scalars_marginchart(const std::vector<std::string>& tags, const std::string& category = "default",
                                      const std::string& title = "untitled");

  // All that add_scalars() was given since the last export: {"FOLDER/MAIN_TAG/NAME": [[time, step, value], ...]}.
  void export_scalars_to_json(const std::filesystem::path& file);

  // Waits until all that was added is in the file, and on the disk.
  void flush();

  // Flushes and ends the files; later calls throw UsageError. Throws RuntimeError when events were lost and options say
  // so (WriteErrors).
  void close();

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace lockstep::tensorboard
