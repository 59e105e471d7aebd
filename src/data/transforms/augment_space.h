// What AutoAugment, RandAugment and TrivialAugment choose from, and the numbers that their magnitudes stand for.
#pragma once
#include <array>
#include <optional>

#include <lockstep/data/transform.h>

namespace lockstep::data {

// In the order in which RandAugment and TrivialAugment number them; Invert is AutoAugment's alone.
enum class AugmentKind {
  kIdentity,
  kShearX,
  kShearY,
  kTranslateX,
  kTranslateY,
  kRotate,
  kBrightness,
  kColor,
  kContrast,
  kSharpness,
  kPosterize,
  kSolarize,
  kAutoContrast,
  kEqualize,
  kInvert,
};
inline constexpr int kRandomKinds = 14;

struct SubPolicyStep {
  AugmentKind kind;
  double probability;
  std::optional<int> magnitude;
};
using SubPolicy = std::array<SubPolicyStep, 2>;
inline constexpr std::size_t kSubPolicies = 25;

const std::array<SubPolicy, kSubPolicies>& sub_policies(AugmentPolicy policy);

// How far the magnitudes reach.
struct AugmentSpace {
  double shear = 0.3;
  double translate_x = 0, translate_y = 0;
  double degrees = 30;
  double enhance = 0.9;
  int posterized_bits = 4;
};
// A part of the picture's size, or the same whatever the size.
AugmentSpace usual_space(ImageSize size);
AugmentSpace wide_space();

struct AugmentStyle {
  Interpolation interpolation = Interpolation::kNearest;
  Fill fill{};
};

// Whether a magnitude of it has a sign, and whether it has one at all.
bool is_signed(AugmentKind kind);
bool has_magnitude(AugmentKind kind);

// Appends the operation of that kind, with magnitude `bin` out of `bins`; nothing for kIdentity.
void append_augmentation(AugmentKind kind, int bin, int bins, bool negative, const AugmentSpace& space,
                         const AugmentStyle& style, std::vector<Operation>& operations);

}  // namespace lockstep::data
