#include <algorithm>

#include <fmt/format.h>

#include <lockstep/base/errors.h>

#include "gif_encoder.h"
#include "png_encoder.h"
#include "summaries.h"
#include "summary_message.h"
#include "tag.h"

namespace lockstep::tensorboard {
namespace {

constexpr int kLargestGif = 65535;  // of a side

}  // namespace

EventBody image_summary(const std::string& tag, int width, int height, int channels, std::string encoded) {
  proto::Summary summary = summary_of(clean_tag(tag, TagCharacters::kName));
  proto::Summary::Image& image = *summary.mutable_value(0)->mutable_image();
  image.set_width(width);
  image.set_height(height);
  image.set_colorspace(channels);
  image.set_encoded_image_string(std::move(encoded));
  return body_of(std::move(summary));
}

EventBody image_summary(const std::string& tag, const data::Image& image) {
  return image_summary(tag, image.width(), image.height(), image.channels(), encode_png(image));
}

EventBody boxes_summary(const std::string& tag, data::Image image, std::span<const BoxEdges> boxes,
                        std::span<const std::string> labels) {
  if (!labels.empty() && labels.size() != boxes.size()) {
    throw UsageError({.message = "boxes need one label each, or none at all",
                      .found = fmt::format("{} labels for {} boxes", labels.size(), boxes.size())});
  }
  draw_boxes(image, boxes, labels);
  return image_summary(tag, image);
}

EventBody video_summary(const std::string& tag, std::span<const data::Image> frames, double frames_per_second) {
  if (!(frames_per_second > 0)) {
    throw UsageError({.message = "a video needs frames in a second",
                      .found = fmt::format("{}", frames_per_second),
                      .expected = "more than 0"});
  }
  const int width = frames.front().width(), height = frames.front().height();
  if (std::max(width, height) > kLargestGif) {
    throw UsageError({.message = "a video is too large for GIF",
                      .found = fmt::format("{} x {} pixels", width, height),
                      .expected = fmt::format("at most {} a side", kLargestGif)});
  }
  return image_summary(tag, width, height, 3, encode_gif(frames, frames_per_second));
}

}  // namespace lockstep::tensorboard
