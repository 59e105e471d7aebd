#include "tag.h"

#include <cstdint>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep::tensorboard {
namespace {

constexpr std::size_t kLongest = 4096;

struct Character {
  std::size_t bytes = 0;  // 0: not UTF-8
  std::uint32_t code = 0;
};

// How many bytes a character has that begins with this one; 0 where none does.
std::size_t length_by_first(std::uint8_t first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::size_t length = length_by_first(byte(0));
  if (length == 1) return {.bytes = 1, .code = byte(0)};
  if (length == 0 || length > text.size()) return {};
  std::uint32_t code = byte(0) & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fU);
  }
  const bool too_long = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return too_long || surrogate || code > 0x10ffff ? Character{} : Character{.bytes = length, .code = code};
}

bool is_printable(std::uint32_t code) {
  return code >= 0x20 && (code < 0x7f || code >= 0xa0);
}

bool is_in_name(std::uint32_t code) {
  if (code >= 0xa0) return true;
  const bool letter = (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') || (code >= '0' && code <= '9');
  return letter || code == '-' || code == '/' || code == '.' || code == '_';
}

std::string replaced(std::string_view text, bool (*is_kept)(std::uint32_t), char replacement) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::size_t length = character.bytes == 0 ? 1 : character.bytes;
    if (character.bytes > 0 && is_kept(character.code)) {
      result += text.substr(0, length);
    } else {
      result += replacement;
    }
    text.remove_prefix(length);
  }
  return result;
}

}  // namespace

std::string clean_tag(std::string_view tag, TagCharacters characters) {
  if (tag.size() > kLongest) {
    throw UsageError({.message = "a tag for TensorBoard is too long",
                      .found = fmt::format("{} bytes, '{}…'", format_count(static_cast<std::int64_t>(tag.size())),
                                           tag.substr(0, 40)),
                      .expected = fmt::format("at most {}", kLongest)});
  }
  std::string cleaned = replaced(tag, characters == TagCharacters::kName ? is_in_name : is_printable, '_');
  if (characters == TagCharacters::kName) cleaned.erase(0, cleaned.find_first_not_of('/'));
  if (cleaned.empty()) {
    throw UsageError(
        {.message = "a tag for TensorBoard is empty", .found = fmt::format("'{}'", tag), .next = "name what is added"});
  }
  return cleaned;
}

std::string clean_text(std::string_view text) {
  return replaced(
      text, [](std::uint32_t code) { return is_printable(code) || code == '\n' || code == '\t'; }, '?');
}

}  // namespace lockstep::tensorboard
