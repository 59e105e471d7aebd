#include <array>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include <lockstep/data/transform.h>

#include "transform_checks.h"

namespace lockstep::data {
namespace {

class ColorJitter : public Transform {
 public:
  explicit ColorJitter(const ColorJitterOptions& options) : options_(options) {}

  void draw(ImageSize, RandomStream& random, std::vector<Operation>& operations) const override {
    std::array<int, 4> order{};
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
    // Each takes its number whether it is done or not, so that none depends on what else is asked for.
    std::array<double, 4> numbers{};
    for (double& number : numbers) number = random.uniform();
    const auto add = [&]<typename Kind>(Kind, const std::optional<Range>& range, std::size_t which) {
      if (range) operations.emplace_back(Kind{range->low + (range->high - range->low) * numbers[which]});
    };
    for (const int which : order) {
      if (which == 0) add(Brightness{}, options_.brightness, 0);
      if (which == 1) add(Contrast{}, options_.contrast, 1);
      if (which == 2) add(Saturation{}, options_.saturation, 2);
      if (which == 3) add(Hue{}, options_.hue, 3);
    }
  }

 private:
  const ColorJitterOptions options_;
};

class ToGrayscale : public Transform {
 public:
  explicit ToGrayscale(int channels) : channels_(channels) {}

  void draw(ImageSize, RandomStream&, std::vector<Operation>& operations) const override {
    operations.emplace_back(Grayscale{channels_});
  }
  int output_channels(int) const override { return channels_; }
  bool suits_devices() const override { return channels_ == 1; }  // the pictures are brought there in gray

 private:
  const int channels_;
};

}  // namespace

TransformPtr color_jitter(const ColorJitterOptions& options) {
  constexpr double kLargest = std::numeric_limits<double>::infinity();
  const auto require = [](const char* what, const std::optional<Range>& range, double low, double high) {
    if (range) require_range("color_jitter", what, *range, low, high);
  };
  require("the brightness", options.brightness, 0, kLargest);
  require("the contrast", options.contrast, 0, kLargest);
  require("the saturation", options.saturation, 0, kLargest);
  require("the hue", options.hue, -0.5, 0.5);
  return std::make_shared<ColorJitter>(options);
}

TransformPtr grayscale(int channels) {
  if (channels != 1 && channels != 3) {
    refuse_option("grayscale", "the number of channels", std::to_string(channels), "1 or 3");
  }
  return std::make_shared<ToGrayscale>(channels);
}

}  // namespace lockstep::data
