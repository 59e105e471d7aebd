#include <string>

#include <fmt/format.h>

#include <lockstep/data/transform.h>

#include "augment_space.h"
#include "transform_checks.h"

namespace lockstep::data {
namespace {

class AutoAugment : public Transform {
 public:
  explicit AutoAugment(const AutoAugmentOptions& options)
      : policies_(sub_policies(options.policy)), style_{options.interpolation, options.fill} {}

  void draw(ImageSize size, RandomStream& random, std::vector<Operation>& operations) const override {
    constexpr int kBins = 10;
    for (const SubPolicyStep& step : policies_[random.below(kSubPolicies)]) {
      // Both numbers are always drawn, so that a step does not depend on whether the one before it was done.
      const bool done = random.uniform() <= step.probability, negative = random.below(2) == 0;
      if (!done) continue;
      append_augmentation(step.kind, step.magnitude.value_or(0), kBins, negative && is_signed(step.kind),
                          usual_space(size), style_, operations);
    }
  }

 private:
  const std::array<SubPolicy, kSubPolicies>& policies_;
  const AugmentStyle style_;
};

AugmentKind draw_kind(RandomStream& random) {
  return static_cast<AugmentKind>(random.below(kRandomKinds));
}

class RandAugment : public Transform {
 public:
  explicit RandAugment(const RandAugmentOptions& options) : options_(options) {}

  void draw(ImageSize size, RandomStream& random, std::vector<Operation>& operations) const override {
    for (int i = 0; i < options_.operations; ++i) {
      const AugmentKind kind = draw_kind(random);
      const bool negative = is_signed(kind) && random.below(2) == 1;
      append_augmentation(kind, options_.magnitude, options_.bins, negative, usual_space(size),
                          {options_.interpolation, options_.fill}, operations);
    }
  }

 private:
  const RandAugmentOptions options_;
};

class TrivialAugmentWide : public Transform {
 public:
  explicit TrivialAugmentWide(const TrivialAugmentOptions& options) : options_(options) {}

  void draw(ImageSize, RandomStream& random, std::vector<Operation>& operations) const override {
    const AugmentKind kind = draw_kind(random);
    const auto bins = static_cast<std::uint64_t>(options_.bins);
    const int bin = has_magnitude(kind) ? static_cast<int>(random.below(bins)) : 0;
    const bool negative = is_signed(kind) && random.below(2) == 1;
    append_augmentation(kind, bin, options_.bins, negative, wide_space(), {options_.interpolation, options_.fill},
                        operations);
  }

 private:
  const TrivialAugmentOptions options_;
};

void require_bins(const char* transform, int bins) {
  constexpr int kMost = 1'000;
  if (bins < 1 || bins > kMost) {
    refuse_option(transform, "the number of bins", std::to_string(bins), fmt::format("1 to {}", kMost));
  }
}

}  // namespace

TransformPtr auto_augment(const AutoAugmentOptions& options) {
  return std::make_shared<AutoAugment>(options);
}

TransformPtr rand_augment(const RandAugmentOptions& options) {
  constexpr int kMostOperations = 100;
  require_bins("rand_augment", options.bins);
  if (options.magnitude < 0 || options.magnitude >= options.bins) {
    refuse_option("rand_augment", "the magnitude", std::to_string(options.magnitude),
                  fmt::format("0 to {}, because there are {} bins", options.bins - 1, options.bins));
  }
  if (options.operations < 0 || options.operations > kMostOperations) {
    refuse_option("rand_augment", "the number of operations", std::to_string(options.operations),
                  fmt::format("0 to {}", kMostOperations));
  }
  return std::make_shared<RandAugment>(options);
}

TransformPtr trivial_augment_wide(const TrivialAugmentOptions& options) {
  require_bins("trivial_augment_wide", options.bins);
  return std::make_shared<TrivialAugmentWide>(options);
}

}  // namespace lockstep::data
