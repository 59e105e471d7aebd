#include "augment_space.h"

#include <cmath>

namespace lockstep::data {
namespace {

// torch.linspace(low, high, bins)[bin]: in float32, from the nearer end, and rounded once. It matters where a magnitude
// is then cut off to a whole number.
double linear(double low, double high, int bin, int bins) {
  const auto first = static_cast<float>(low), last = static_cast<float>(high);
  if (bins == 1) return first;
  const float step = (last - first) / static_cast<float>(bins - 1);
  if (bin < bins / 2) return std::fma(step, static_cast<float>(bin), first);
  return std::fma(-step, static_cast<float>(bins - 1 - bin), last);
}

int posterized_bits(int most, int bin, int bins) {
  if (bins == 1) return 8;
  const auto unit = static_cast<float>((bins - 1) / static_cast<double>(most));
  return 8 - static_cast<int>(std::nearbyint(static_cast<float>(bin) / unit));
}

}  // namespace

AugmentSpace usual_space(ImageSize size) {
  constexpr double kPart = 150.0 / 331.0;
  return {.translate_x = kPart * size.width, .translate_y = kPart * size.height};
}

AugmentSpace wide_space() {
  return {.shear = 0.99, .translate_x = 32, .translate_y = 32, .degrees = 135, .enhance = 0.99, .posterized_bits = 6};
}

bool is_signed(AugmentKind kind) {
  return kind >= AugmentKind::kShearX && kind <= AugmentKind::kSharpness;
}

bool has_magnitude(AugmentKind kind) {
  return kind >= AugmentKind::kShearX && kind <= AugmentKind::kSolarize;
}

void append_augmentation(AugmentKind kind, int bin, int bins, bool negative, const AugmentSpace& space,
                         const AugmentStyle& style, std::vector<Operation>& operations) {
  const auto magnitude = [&](double most) { return linear(0, most, bin, bins) * (negative ? -1 : 1); };
  const auto shear = [&](double x, double y) { return Shear{x, y, style.interpolation, style.fill}; };
  const auto translate = [&](double x, double y) {
    return Translate{static_cast<int>(x), static_cast<int>(y), style.interpolation, style.fill};
  };
  switch (kind) {
    case AugmentKind::kIdentity:
      return;
    case AugmentKind::kShearX:
      return void(operations.emplace_back(shear(magnitude(space.shear), 0)));
    case AugmentKind::kShearY:
      return void(operations.emplace_back(shear(0, magnitude(space.shear))));
    case AugmentKind::kTranslateX:
      return void(operations.emplace_back(translate(magnitude(space.translate_x), 0)));
    case AugmentKind::kTranslateY:
      return void(operations.emplace_back(translate(0, magnitude(space.translate_y))));
    case AugmentKind::kRotate:
      return void(operations.emplace_back(Rotate{magnitude(space.degrees), style.interpolation, style.fill}));
    case AugmentKind::kBrightness:
      return void(operations.emplace_back(Brightness{1 + magnitude(space.enhance)}));
    case AugmentKind::kColor:
      return void(operations.emplace_back(Saturation{1 + magnitude(space.enhance)}));
    case AugmentKind::kContrast:
      return void(operations.emplace_back(Contrast{1 + magnitude(space.enhance)}));
    case AugmentKind::kSharpness:
      return void(operations.emplace_back(Sharpness{1 + magnitude(space.enhance)}));
    case AugmentKind::kPosterize:
      return void(operations.emplace_back(Posterize{posterized_bits(space.posterized_bits, bin, bins)}));
    case AugmentKind::kSolarize:
      return void(operations.emplace_back(Solarize{linear(255, 0, bin, bins)}));
    case AugmentKind::kAutoContrast:
      return void(operations.emplace_back(AutoContrast{}));
    case AugmentKind::kEqualize:
      return void(operations.emplace_back(Equalize{}));
    case AugmentKind::kInvert:
      return void(operations.emplace_back(Invert{}));
  }
}

}  // namespace lockstep::data
