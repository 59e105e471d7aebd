#include "turn_lines.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep::bench {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostShown = 300;
constexpr std::int64_t kMostNumber = std::int64_t{1} << 53;  // exact as a double, and more than any memory has

std::string in_short(const std::string& text) {
  return escape_controls(text.size() > kMostShown ? text.substr(0, kMostShown) + "..." : text);
}

[[noreturn]] void refuse(const std::string& line, const std::string& expected) {
  throw RuntimeError(
      {.message = "the other program's answer is not understood", .found = in_short(line), .expected = expected});
}

Json object_of(const std::string& line, const std::string& expected) {
  if (line.size() > kMostOfALine) refuse(line, expected);
  const Json value = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!value.is_object()) refuse(line, expected);
  if (const auto error = value.find("error"); error != value.end() && error->is_string()) {
    throw RuntimeError(in_short(error->get<std::string>()));
  }
  return value;
}

double number_of(const Json& value, const char* name, const std::string& line, const std::string& expected) {
  const auto found = value.find(name);
  if (found == value.end() || !found->is_number()) refuse(line, expected);
  const double number = found->get<double>();
  if (!std::isfinite(number) || number <= 0 || number > static_cast<double>(kMostNumber)) refuse(line, expected);
  return number;
}

}  // namespace

std::string to_line(const Ready& ready) {
  return Json{{"parameters", ready.parameters}, {"about", ready.about}}.dump() + "\n";
}

std::string to_line(const Turn& turn) {
  return Json{{"samples_per_second", turn.samples_per_second}, {"peak_memory", turn.peak_memory}}.dump() + "\n";
}

Ready parse_ready(const std::string& line) {
  const std::string expected = "an object with parameters and about";
  const Json value = object_of(line, expected);
  const auto about = value.find("about");
  if (about == value.end() || !about->is_string()) refuse(line, expected);
  return {.parameters = static_cast<std::int64_t>(number_of(value, "parameters", line, expected)),
          .about = in_short(about->get<std::string>())};
}

Turn parse_turn(const std::string& line) {
  const std::string expected = "an object with samples_per_second and peak_memory, both above 0";
  const Json value = object_of(line, expected);
  return {.samples_per_second = number_of(value, "samples_per_second", line, expected),
          .peak_memory = static_cast<std::int64_t>(number_of(value, "peak_memory", line, expected))};
}

}  // namespace lockstep::bench
