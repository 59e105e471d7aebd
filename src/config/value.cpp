#include <lockstep/config/value.h>

#include <algorithm>
#include <cctype>

#include <nlohmann/json.hpp>

namespace lockstep::config {
namespace {

template <typename Map>
auto* find_in(Map& map, std::string_view key) {
  const auto found =
      std::find_if(map.entries.begin(), map.entries.end(), [&](const Entry& entry) { return entry.key == key; });
  return found == map.entries.end() ? nullptr : &found->value;
}

// Whether YAML reads it, unquoted, as the same text and as nothing else, also inside of brackets.
bool is_plain(const std::string& text) {
  const auto harmless = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("._/+-").find(c) != std::string_view::npos;
  };
  if (text.empty() || text == "-" || text == "---" || text == "..." || text == "null" || text == "Null" ||
      text == "NULL")
    return false;
  return std::all_of(text.begin(), text.end(), harmless);
}

// In JSON's escapes a character beyond 16 bits would become two, which YAML does not join; so such stay as they are.
std::string scalar_flow(const std::string& text, bool quoted) {
  if (!quoted && is_plain(text)) return text;
  return nlohmann::json(text).dump(-1, ' ', /*ensure_ascii=*/false, nlohmann::json::error_handler_t::replace);
}

template <typename Items>
std::string joined(const Items& items, const char* open, const char* close, auto form) {
  std::string text = open;
  for (const auto& item : items) {
    if (text.size() > 1) text += ", ";
    text += form(item);
  }
  return text + close;
}

}  // namespace

const Value* Value::find(std::string_view key) const {
  return find_in(*this, key);
}

Value* Value::find(std::string_view key) {
  return find_in(*this, key);
}

std::string describe(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kNull:
      return "nothing";
    case Value::Kind::kList:
      return "a list";
    case Value::Kind::kMap:
      return "a map of keys";
    case Value::Kind::kScalar:
      break;
  }
  constexpr std::size_t kMost = 60;
  const std::string shown = value.text.size() <= kMost ? value.text : value.text.substr(0, kMost) + "...";
  return value.quoted ? "the text '" + shown + "'" : "'" + shown + "'";
}

std::string to_flow(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kNull:
      return "null";
    case Value::Kind::kList:
      return joined(value.items, "[", "]", to_flow);
    case Value::Kind::kMap:
      return joined(value.entries, "{", "}",
                    [](const Entry& entry) { return scalar_flow(entry.key, false) + ": " + to_flow(entry.value); });
    case Value::Kind::kScalar:
      break;
  }
  return scalar_flow(value.text, value.quoted);
}

}  // namespace lockstep::config
