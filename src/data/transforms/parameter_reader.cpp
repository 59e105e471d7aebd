#include "parameter_reader.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep::data {
namespace {

std::string text_of(const TransformParameter& parameter) {
  if (const auto* text = std::get_if<std::string>(&parameter)) return fmt::format("'{}'", *text);
  return fmt::format("{}", fmt::join(std::get<std::vector<double>>(parameter), ", "));
}

}  // namespace

const TransformParameter* ParameterReader::find(const std::string& name) {
  known_.insert(name);
  const auto found = parameters_.find(name);
  return found == parameters_.end() ? nullptr : &found->second;
}

void ParameterReader::refuse(const std::string& name, const std::string& expected) const {
  const auto found = parameters_.find(name);
  throw UsageError({.message = fmt::format("the parameter '{}' of the transform {} is wrong", name, transform_),
                    .found = found == parameters_.end() ? "nothing" : text_of(found->second),
                    .expected = expected});
}

std::optional<std::vector<double>> ParameterReader::numbers(const std::string& name,
                                                            std::initializer_list<std::size_t> counts) {
  const TransformParameter* parameter = find(name);
  if (parameter == nullptr) return std::nullopt;
  const auto* values = std::get_if<std::vector<double>>(parameter);
  if (values == nullptr || std::find(counts.begin(), counts.end(), values->size()) == counts.end()) {
    refuse(name, fmt::format("numbers: {} of them", fmt::join(counts, " or ")));
  }
  return *values;
}

std::optional<double> ParameterReader::number(const std::string& name) {
  const auto values = numbers(name, {1});
  return values ? std::optional(values->front()) : std::nullopt;
}

int ParameterReader::to_integer(const std::string& name, double number) const {
  constexpr double kMost = 1 << 30;
  if (number != std::floor(number) || std::abs(number) > kMost) refuse(name, "whole numbers");
  return static_cast<int>(number);
}

std::optional<int> ParameterReader::integer(const std::string& name) {
  const auto value = number(name);
  return value ? std::optional(to_integer(name, *value)) : std::nullopt;
}

std::optional<std::string> ParameterReader::text(const std::string& name, const std::vector<std::string>& choices) {
  const TransformParameter* parameter = find(name);
  if (parameter == nullptr) return std::nullopt;
  const auto* value = std::get_if<std::string>(parameter);
  if (value == nullptr || std::find(choices.begin(), choices.end(), *value) == choices.end()) {
    refuse(name, fmt::format("{}", fmt::join(choices, ", ")) + (value ? did_you_mean(*value, choices) : ""));
  }
  return *value;
}

bool ParameterReader::is_text(const std::string& name) {
  const TransformParameter* parameter = find(name);
  return parameter != nullptr && std::holds_alternative<std::string>(*parameter);
}

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

void ParameterReader::require_no_others() const {
  for (const auto& [name, value] : parameters_) {
    if (known_.contains(name)) continue;
    const std::vector<std::string> names(known_.begin(), known_.end());
    throw UsageError({.message = fmt::format("the transform {} has no parameter '{}'{}", transform_, name,
                                             did_you_mean(name, names)),
                      .expected = names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))});
  }
}

}  // namespace lockstep::data
