#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <lockstep/data/transform.h>

#include "transform_checks.h"

namespace lockstep::data {
namespace {

class Normalize : public Transform {
 public:
  explicit Normalize(const Normalization& normalization) : normalization_(normalization) {}

  void draw(ImageSize, RandomStream&, std::vector<Operation>&) const override {}
  std::optional<Normalization> normalization() const override { return normalization_; }
  bool suits_devices() const override { return true; }

 private:
  const Normalization normalization_;
};

class RandomErasing : public Transform {
 public:
  explicit RandomErasing(const RandomErasingOptions& options) : options_(options) {
    for (std::size_t i = 0; i < value_.size(); ++i) {
      value_[i] = static_cast<float>(options.value[std::min(i, options.value.size() - 1)]);
    }
  }

  void draw(ImageSize size, RandomStream& random, std::vector<Operation>& operations) const override {
    if (!random.chance(options_.probability)) return;
    constexpr int kTries = 10;
    const double area = static_cast<double>(size.width) * size.height;
    for (int i = 0; i < kTries; ++i) {
      const double target = area * random.uniform(options_.scale.low, options_.scale.high);
      const double ratio = std::exp(random.uniform(std::log(options_.ratio.low), std::log(options_.ratio.high)));
      const double height = std::nearbyint(std::sqrt(target * ratio)),
                   width = std::nearbyint(std::sqrt(target / ratio));
      if (height >= size.height || width >= size.width) continue;
      const int h = static_cast<int>(height), w = static_cast<int>(width);
      const auto offset = [&](int room) {
        return static_cast<int>(random.below(static_cast<std::uint64_t>(room) + 1));
      };
      const int top = offset(size.height - h), left = offset(size.width - w);
      Erase erase{.region = {left, top, w, h}, .value = value_};
      if (options_.noise) erase.noise = random.fork(0);
      operations.emplace_back(erase);
      return;
    }
  }

  bool after_normalization() const override { return true; }
  bool suits_devices() const override { return !options_.noise; }

 private:
  const RandomErasingOptions options_;
  std::array<float, 3> value_{};
};

}  // namespace

TransformPtr normalize(const Normalization& normalization) {
  const auto require = [](const char* what, const std::vector<double>& numbers, bool good) {
    if (good && (numbers.size() == 1 || numbers.size() == 3)) return;
    refuse_option("normalize", what, fmt::format("{}", fmt::join(numbers, ", ")),
                  "1 or 3 numbers, and deviations above 0");
  };
  const auto finite = [](double number) { return std::isfinite(number); };
  const auto usable = [](double number) { return std::isfinite(number) && number > 0; };
  const auto &mean = normalization.mean, &deviation = normalization.deviation;
  require("the mean", mean, std::all_of(mean.begin(), mean.end(), finite));
  require("the deviation", deviation, std::all_of(deviation.begin(), deviation.end(), usable));
  return std::make_shared<Normalize>(normalization);
}

TransformPtr random_erasing(const RandomErasingOptions& options) {
  constexpr double kSmallest = std::numeric_limits<double>::min(), kLargest = std::numeric_limits<double>::infinity();
  require_probability("random_erasing", options.probability);
  require_range("random_erasing", "the scale", options.scale, 0, 1);
  require_range("random_erasing", "the ratio", options.ratio, kSmallest, kLargest);
  if (options.value.size() != 1 && options.value.size() != 3) {
    refuse_option("random_erasing", "the value", fmt::format("{} numbers", options.value.size()), "1 or 3 numbers");
  }
  return std::make_shared<RandomErasing>(options);
}

}  // namespace lockstep::data
