#include <lockstep/base/environment.h>

#include <charconv>
#include <cstdlib>

#include <fmt/format.h>

#include <lockstep/base/errors.h>

namespace lockstep::env {
namespace {

UsageError not_understood(const std::string& name, const std::string& value, std::string expected) {
  return UsageError({.message = "environment variable " + name + " is not understood",
                     .found = "'" + value + "'",
                     .expected = std::move(expected),
                     .next = "correct it, or unset " + name});
}

}  // namespace

std::optional<std::string> get(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::optional<std::int64_t> get_int(const std::string& name, std::int64_t min, std::int64_t max) {
  const std::optional<std::string> text = get(name);
  if (!text) return std::nullopt;
  std::int64_t value = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc{} || stop != end || value < min || value > max) {
    const bool bounded = max != std::numeric_limits<std::int64_t>::max();
    throw not_understood(name, *text,
                         bounded ? fmt::format("a whole number from {} to {}", min, max)
                                 : fmt::format("a whole number, at least {}", min));
  }
  return value;
}

std::optional<bool> get_bool(const std::string& name) {
  const std::optional<std::string> text = get(name);
  if (!text) return std::nullopt;
  for (const char* yes : {"1", "true", "yes", "on"}) {
    if (*text == yes) return true;
  }
  for (const char* no : {"0", "false", "no", "off"}) {
    if (*text == no) return false;
  }
  throw not_understood(name, *text, "1, true, yes, on, 0, false, no or off");
}

}  // namespace lockstep::env
