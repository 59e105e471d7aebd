#include <limits>

#include <lockstep/data/transform.h>

#include "transform_checks.h"

namespace lockstep::data {
namespace {

class RandomFlip : public Transform {
 public:
  RandomFlip(Flip flip, double probability) : flip_(flip), probability_(probability) {}

  void draw(ImageSize, RandomStream& random, std::vector<Operation>& operations) const override {
    if (random.chance(probability_)) operations.emplace_back(flip_);
  }
  bool suits_devices() const override { return true; }

 private:
  const Flip flip_;
  const double probability_;
};

class RandomRotation : public Transform {
 public:
  explicit RandomRotation(const RandomRotationOptions& options) : options_(options) {}

  void draw(ImageSize, RandomStream& random, std::vector<Operation>& operations) const override {
    operations.emplace_back(Rotate{.degrees = random.uniform(options_.degrees.low, options_.degrees.high),
                                   .interpolation = options_.interpolation,
                                   .fill = options_.fill});
  }

 private:
  const RandomRotationOptions options_;
};

}  // namespace

TransformPtr random_horizontal_flip(double probability) {
  require_probability("random_horizontal_flip", probability);
  return std::make_shared<RandomFlip>(Flip{.horizontal = true}, probability);
}

TransformPtr random_vertical_flip(double probability) {
  require_probability("random_vertical_flip", probability);
  return std::make_shared<RandomFlip>(Flip{.vertical = true}, probability);
}

TransformPtr random_rotation(const RandomRotationOptions& options) {
  constexpr double kLargest = std::numeric_limits<double>::infinity();
  require_range("random_rotation", "the range of degrees", options.degrees, -kLargest, kLargest);
  return std::make_shared<RandomRotation>(options);
}

}  // namespace lockstep::data
