// The C++ side of summary_writer.py: writes every kind of summary into a run.
//
// usage: parity_summary_writer FOLDER, where inputs.pt, model.onnx, figure.svg and figure.png are; the run is
// FOLDER/ours
#include <filesystem>

#include <torch/torch.h>

#include <lockstep/base/errors.h>
#include <lockstep/nn/registry.h>
#include <lockstep/tensorboard/summary_writer.h>

#include "tensors.h"

namespace {

using namespace lockstep::tensorboard;

class Run {
 public:
  explicit Run(const std::filesystem::path& folder)
      : folder_(folder), inputs_(lockstep::test::read_tensors(folder / "inputs.pt")), writer_(folder / "ours") {}

  void write() {
    write_numbers();
    write_pictures();
    write_sounds_and_texts();
    write_points();
    write_graphs();
    write_dashboards();
    writer_.export_scalars_to_json(folder_ / "ours.json");
    writer_.close();
  }

 private:
  at::Tensor input(const char* name) const { return inputs_.at(name).toTensor(); }

  // All at one time of day, so that files can be compared.
  When at(std::int64_t step) const {
    return {step, std::chrono::system_clock::time_point(std::chrono::seconds(input("time").item<std::int64_t>()))};
  }

  void write_numbers() {
    const at::Tensor curves = input("curves"), weights = input("weights");
    for (std::int64_t step = 0; step < curves.size(0); ++step) {
      writer_.add_scalar("train/loss", curves[step][0].item<double>(), at(step));
      writer_.add_scalar("a tag/with = odd (characters)", curves[step][1].item<double>(), at(step));
      writer_.add_scalars("both", {{"train", curves[step][0].item<double>()}, {"test", curves[step][1].item<double>()}},
                          at(step));
    }
    for (std::int64_t step = 0; step < weights.size(0); ++step)
      writer_.add_histogram("weights", weights[step], at(step));
    writer_.add_histogram("weights/few", weights[0], at(0), {.max_bins = 10});
    writer_.add_histogram("weights/equal", weights[0], at(0), {.equal_bins = 17});
    writer_.add_histogram("integers", input("integers"), at(0));
    writer_.add_histogram_raw("raw",
                              {.min = -1,
                               .max = 2,
                               .num = 6,
                               .sum = 3,
                               .sum_squares = 9.5,
                               .bucket_limits = {0, 1, 2},
                               .bucket_counts = {1, 2, 3}},
                              at(0));
  }

  void write_pictures() {
    for (std::int64_t step = 0; step < input("picture").size(0); ++step)
      writer_.add_image("picture", input("picture")[step], at(step));
    writer_.add_image("bytes", input("bytes"), at(0), "HWC");
    writer_.add_image("gray", input("picture")[0][0], at(0), "HW");
    writer_.add_images("batch", input("batch"), at(0), "NHWC");
    writer_.add_image_with_boxes("boxes", input("picture")[0], input("boxes"), at(0));
    writer_.add_image_with_boxes("labels", input("picture")[0], input("boxes"), at(0), {.labels = {"cat", "dog"}});
    writer_.add_figure("figure/pixels", input("picture")[1], at(0));
    writer_.add_figure("figure/svg", folder_ / "figure.svg", at(0));
    writer_.add_figure("figure/png", folder_ / "figure.png", at(0));
    writer_.add_video("video", input("video"), at(0), {.fps = 10});
  }

  void write_sounds_and_texts() {
    writer_.add_audio("sound", input("sound"), at(0));
    writer_.add_audio("stereo", input("stereo"), at(0), 22050);
    writer_.add_text("a text", "# Title\n\n| a | b |\n|---|---|\n| 1 | ü |\n", at(3));
  }

  void write_points() {
    std::vector<std::vector<std::string>> labels;
    for (std::int64_t i = 0; i < input("points").size(0); ++i) labels.push_back({"label " + std::to_string(i)});
    writer_.add_embedding(input("points"), at(7),
                          {.metadata = labels, .label_images = input("sprites"), .tag = "points/last"});
    writer_.add_mesh("mesh", input("vertices"), at(0),
                     {.colors = input("colors"), .faces = input("faces"), .config = R"({"lights": []})"});
  }

  void write_graphs() {
    const auto model = lockstep::nn::make_model("resnet18");
    writer_.add_graph(*model, torch::zeros({1, 3, 64, 64}));
    SummaryWriter onnx(folder_ / "ours_onnx");
    onnx.add_onnx_graph(folder_ / "model.onnx");
  }

  void write_dashboards() {
    const at::Tensor labels = input("labels"), predictions = input("predictions");
    writer_.add_pr_curve("pr", labels, predictions, at(0));
    writer_.add_pr_curve("pr/weighted", labels, predictions, at(0),
                         {.num_thresholds = 20, .weights = input("pr_weights")});
    const at::Tensor raw = input("pr_raw");
    writer_.add_pr_curve_raw("pr/raw", {raw[0], raw[1], raw[2], raw[3], raw[4], raw[5]}, at(0));
    writer_.add_hparams({{"lr", 0.1}, {"epochs", 90}, {"optimizer", "sgd"}, {"amp", true}},
                        {{"top1", 0.75}, {"final/loss", 1.25}}, at(5), {.run_name = "trial"});
    writer_.add_custom_scalars({{"losses",
                                 {{"lines", CustomChart::Kind::kMultiline, {"train/loss", "both"}},
                                  {"band", CustomChart::Kind::kMargin, {"train/loss", "low", "high"}}}}});
  }

  std::filesystem::path folder_;
  c10::Dict<c10::IValue, c10::IValue> inputs_;
  SummaryWriter writer_;
};

int body(int, char** argv) {
  Run(argv[1]).write();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::report_errors({}, body, argc, argv);
}
