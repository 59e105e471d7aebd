#include "shell.h"

#include <algorithm>

#include <fmt/format.h>

namespace lockstep::launch {
namespace {

constexpr std::size_t kWidth = 100;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_./:=,@%+-").find(c) != std::string_view::npos;
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

// $'...', where bash undoes C's escapes and expands nothing.
std::string escaped(std::string_view word) {
  std::string out = "$'";
  for (const char c : word) {
    if (c == '\\' || c == '\'') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (is_control(c)) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + "'";
}

// `part` on as few lines as its words allow.
void append_lines(std::vector<std::string>& lines, const std::vector<std::string>& part) {
  constexpr std::size_t kAround = 4;  // the indentation, and the backslash that continues the line
  lines.emplace_back();
  for (const std::string& word : part) {
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > kWidth - kAround) lines.emplace_back();
    lines.back() += fmt::format("{}{}", lines.back().empty() ? "" : " ", word);
  }
}

}  // namespace

std::string quote(std::string_view word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return std::string(word);
  const bool special =
      word.find_first_of("'$`\\") != std::string_view::npos || std::any_of(word.begin(), word.end(), is_control);
  return special ? escaped(word) : fmt::format("'{}'", word);
}

std::vector<std::string> quote(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(quote(word));
  return quoted;
}

std::string one_command(const std::vector<std::vector<std::string>>& parts) {
  std::string line;
  for (const auto& part : parts) line += fmt::format("{}{}", line.empty() ? "" : " ", fmt::join(part, " "));
  if (line.size() <= kWidth) return line;
  std::vector<std::string> lines;
  for (const auto& part : parts) append_lines(lines, part);
  return fmt::format("{}", fmt::join(lines, " \\\n  "));
}

}  // namespace lockstep::launch
