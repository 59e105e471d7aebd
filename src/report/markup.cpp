#include "markup.h"

#include <lockstep/base/text.h>

namespace lockstep::report {

std::string escape_markup(std::string_view text) {
  std::string escaped;
  for (const char c : escape_controls(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string escape_script(std::string_view json) {
  std::string escaped;
  for (const char c : json) {
    if (c == '<') {
      escaped += "\\u003c";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string fill_in(std::string_view text, const std::map<std::string, std::string, std::less<>>& values) {
  std::string filled;
  while (true) {
    const std::size_t open = text.find("{{");
    filled += text.substr(0, open);
    if (open == std::string_view::npos) return filled;
    const std::size_t close = text.find("}}", open);
    filled += values.at(std::string(text.substr(open + 2, close - open - 2)));
    text.remove_prefix(close + 2);
  }
}

std::string shortened(std::string_view text, std::size_t most) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U) continue;  // inside of a character
    if (++characters > most) return std::string(text.substr(0, i)) + "…";
  }
  return std::string(text);
}

}  // namespace lockstep::report
