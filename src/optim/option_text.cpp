#include "option_text.h"

#include <charconv>

#include <fmt/format.h>

#include <lockstep/base/errors.h>

namespace lockstep::optim {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& text, const char* expected) {
  throw UsageError({.message = fmt::format("the optimizer's option '{}' cannot be read", name),
                    .found = text,
                    .expected = expected});
}

}  // namespace

std::string option_text(double value) {
  return fmt::format("{}", value);
}

std::string option_text(bool value) {
  return value ? "true" : "false";
}

std::string option_text(const std::tuple<double, double>& values) {
  return fmt::format("{}, {}", std::get<0>(values), std::get<1>(values));
}

void parse_option(const std::string& name, const std::string& text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) refuse(name, text, "a number");
}

void parse_option(const std::string& name, const std::string& text, bool& value) {
  if (text != "true" && text != "false") refuse(name, text, "true or false");
  value = text == "true";
}

void parse_option(const std::string& name, const std::string& text, std::tuple<double, double>& values) {
  const auto comma = text.find(", ");
  if (comma == std::string::npos) refuse(name, text, "two numbers");
  parse_option(name, text.substr(0, comma), std::get<0>(values));
  parse_option(name, text.substr(comma + 2), std::get<1>(values));
}

}  // namespace lockstep::optim
