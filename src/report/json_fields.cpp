#include "json_fields.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include <lockstep/report/data.h>

namespace lockstep::report {

const nlohmann::json& field_in(const nlohmann::json& object, const char* key) {
  static const nlohmann::json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}

double number_in(const nlohmann::json& object, const char* key) {
  const nlohmann::json& value = field_in(object, key);
  if (!value.is_number()) return kUnknown;
  const auto number = value.get<double>();
  return std::isfinite(number) ? number : kUnknown;
}

std::string text_in(const nlohmann::json& object, const char* key) {
  constexpr std::size_t kMost = 200;
  const nlohmann::json& value = field_in(object, key);
  if (!value.is_string()) return "";
  std::string text = value.get<std::string>();
  if (text.size() <= kMost) return text;
  std::size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // inside of a character
  return text.substr(0, end) + "…";
}

}  // namespace lockstep::report
