#pragma once
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace lockstep::data {

// The number that the whole of `text` is; nothing when it is none, or too large for its type.
template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace lockstep::data
