#include <lockstep/base/parameters.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep {
namespace {

std::string text_of(const Parameter& parameter) {
  if (const auto* text = std::get_if<std::string>(&parameter)) return fmt::format("'{}'", *text);
  return fmt::format("{}", fmt::join(std::get<std::vector<double>>(parameter), ", "));
}

}  // namespace

const Parameter* ParameterReader::find(const std::string& name) {
  known_.insert(name);
  const auto found = parameters_.find(name);
  return found == parameters_.end() ? nullptr : &found->second;
}

void ParameterReader::refuse(const std::string& name, const std::string& expected) const {
  const auto found = parameters_.find(name);
  throw UsageError({.message = fmt::format("the parameter '{}' of {} is wrong", name, owner_),
                    .found = found == parameters_.end() ? "nothing" : text_of(found->second),
                    .expected = expected});
}

std::optional<std::vector<double>> ParameterReader::numbers(const std::string& name,
                                                            std::initializer_list<std::size_t> counts) {
  const Parameter* parameter = find(name);
  if (parameter == nullptr) return std::nullopt;
  const auto* values = std::get_if<std::vector<double>>(parameter);
  const bool any_count = counts.size() == 0;
  if (values == nullptr || (any_count && values->empty())) {
    refuse(name, any_count ? "numbers" : fmt::format("numbers: {} of them", fmt::join(counts, " or ")));
  }
  if (!any_count && std::find(counts.begin(), counts.end(), values->size()) == counts.end()) {
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
  const Parameter* parameter = find(name);
  if (parameter == nullptr) return std::nullopt;
  const auto* value = std::get_if<std::string>(parameter);
  if (value == nullptr || std::find(choices.begin(), choices.end(), *value) == choices.end()) {
    refuse(name, fmt::format("{}", fmt::join(choices, ", ")) + (value ? did_you_mean(*value, choices) : ""));
  }
  return *value;
}

bool ParameterReader::is_text(const std::string& name) {
  const Parameter* parameter = find(name);
  return parameter != nullptr && std::holds_alternative<std::string>(*parameter);
}

void ParameterReader::require_no_others() const {
  for (const auto& [name, value] : parameters_) {
    if (known_.contains(name)) continue;
    const std::vector<std::string> names(known_.begin(), known_.end());
    throw UsageError({.message = fmt::format("{} has no parameter '{}'{}", owner_, name, did_you_mean(name, names)),
                      .expected = names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))});
  }
}

}  // namespace lockstep
