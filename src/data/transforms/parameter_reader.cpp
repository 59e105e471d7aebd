#include "parameter_reader.h"

#include <algorithm>

namespace lockstep::data {

std::optional<Range> ParameterReader::range(const std::string& name, double center, double least) {
  const auto values = numbers(name, {1, 2});
  if (!values) return std::nullopt;
  if (values->size() == 2) return Range{values->front(), values->back()};
  if (!(values->front() >= 0)) refuse(name, "a number from 0 up, or the two ends of a range");
  return Range{std::max(least, center - values->front()), center + values->front()};
}

std::optional<Range> ParameterReader::pair(const std::string& name) {
  const auto values = numbers(name, {2});
  return values ? std::optional(Range{values->front(), values->back()}) : std::nullopt;
}

std::optional<ImageSize> ParameterReader::size(const std::string& name) {
  const auto values = numbers(name, {1, 2});
  if (!values) return std::nullopt;
  return ImageSize{.width = to_integer(name, values->back()), .height = to_integer(name, values->front())};
}

ImageSize ParameterReader::required_size(const std::string& name) {
  const auto found = size(name);
  if (!found) refuse(name, "a number of pixels, or height and width");
  return *found;
}

Padding ParameterReader::padding(const std::string& name) {
  const auto values = numbers(name, {1, 2, 4});
  if (!values) return {};
  const auto at = [&](std::size_t i) { return to_integer(name, (*values)[i % values->size()]); };
  return {.left = at(0), .top = at(1), .right = at(2), .bottom = at(3)};
}

Fill ParameterReader::fill(const std::string& name) {
  Fill fill{};
  const auto values = numbers(name, {1, 3});
  for (std::size_t i = 0; values && i < fill.size(); ++i) {
    const double value = (*values)[i % values->size()];
    if (!(value >= 0 && value <= 255)) refuse(name, "0 to 255");
    fill[i] = static_cast<std::uint8_t>(value);
  }
  return fill;
}

PadMode ParameterReader::pad_mode(const std::string& name) {
  const std::string mode = text(name, {"constant", "edge", "reflect", "symmetric"}).value_or("constant");
  if (mode == "edge") return PadMode::kEdge;
  if (mode == "reflect") return PadMode::kReflect;
  return mode == "symmetric" ? PadMode::kSymmetric : PadMode::kConstant;
}

Interpolation ParameterReader::interpolation(const std::string& name) {
  return text(name, {"nearest", "bilinear"}) == "bilinear" ? Interpolation::kBilinear : Interpolation::kNearest;
}

}  // namespace lockstep::data
