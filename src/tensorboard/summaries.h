// The summaries that TensorBoard's plugins read, one function for each kind. All throw UsageError for tags that cannot
// be used and for values that make no sense.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <lockstep/data/image.h>
#include <lockstep/tensorboard/options.h>

#include "draw_boxes.h"
#include "event_body.h"

namespace lockstep::tensorboard {

EventBody scalar_summary(const std::string& tag, double value);
EventBody text_summary(const std::string& tag, const std::string& text);

// Leaves out what is not finite, and says so in the log.
EventBody histogram_summary(const std::string& tag, std::span<const double> values, const HistogramOptions& options);
EventBody histogram_summary(const std::string& tag, const RawHistogram& histogram);

// `encoded` is the content of a PNG or GIF file.
EventBody image_summary(const std::string& tag, int width, int height, int channels, std::string encoded);
EventBody image_summary(const std::string& tag, const data::Image& image);
EventBody boxes_summary(const std::string& tag, data::Image image, std::span<const BoxEdges> boxes,
                        std::span<const std::string> labels);
EventBody video_summary(const std::string& tag, std::span<const data::Image> frames, double frames_per_second);

// Samples of one moment, one for each channel, lie together.
EventBody audio_summary(const std::string& tag, std::span<const std::int16_t> samples, int channels, int sample_rate);

// A label from 0 to 1, a prediction and a weight for each sample.
EventBody pr_curve_summary(const std::string& tag, std::span<const double> labels, std::span<const double> predictions,
                           std::span<const double> weights, int thresholds);

// True and false positives, true and false negatives, precision and recall, for each threshold.
using PrCurveRows = std::array<std::vector<double>, 6>;
EventBody pr_curve_summary(const std::string& tag, const PrCurveRows& rows);

// Points, indices or colors: batch x count x 3.
struct MeshPart {
  std::int64_t batch = 0, count = 0;
  std::vector<float> values;  // empty: there is none
};
struct Mesh {
  MeshPart vertices, faces, colors;
  std::string config;  // JSON; empty: none
};
EventBody mesh_summary(const std::string& tag, const Mesh& mesh);

EventBody custom_scalars_summary(const std::vector<CustomCategory>& layout);

// Three summaries: what parameters and metrics there are, the parameters of this run, and that it has ended.
std::vector<EventBody> hparams_summaries(const Hparams& hparams, const std::map<std::string, double>& metrics,
                                         const HparamOptions& options);

}  // namespace lockstep::tensorboard
