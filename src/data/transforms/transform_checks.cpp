#include "transform_checks.h"

#include <cmath>

#include <fmt/format.h>

#include <lockstep/base/errors.h>

namespace lockstep::data {

void refuse_option(const char* transform, const std::string& what, const std::string& found,
                   const std::string& expected) {
  throw UsageError(
      {.message = fmt::format("{}: {} makes no sense", transform, what), .found = found, .expected = expected});
}

void require_size(const char* transform, ImageSize size) {
  if (size.width > 0 && size.height > 0 && size.width <= kLargestSide && size.height <= kLargestSide) return;
  refuse_option(transform, "the size", fmt::format("{} x {}", size.width, size.height),
                fmt::format("1 to {} pixels in both directions", kLargestSide));
}

void require_probability(const char* transform, double probability) {
  if (probability >= 0 && probability <= 1) return;
  refuse_option(transform, "the probability", fmt::format("{}", probability), "0 to 1");
}

void require_range(const char* transform, const char* what, Range range, double low, double high) {
  if (std::isfinite(range.low) && std::isfinite(range.high) && range.low >= low && range.low <= range.high &&
      range.high <= high) {
    return;
  }
  refuse_option(
      transform, what, fmt::format("{} to {}", range.low, range.high),
      std::isfinite(high) ? fmt::format("a range within {} to {}", low, high) : fmt::format("a range from {} up", low));
}

}  // namespace lockstep::data
