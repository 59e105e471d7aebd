#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <lockstep/base/text.h>

namespace lockstep::data {

// The lines of a text, whoever has written it: without spaces and '\r' at their ends, and without empty ones after the
// last.
inline std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines = split(text, '\n');
  for (std::string& line : lines) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

}  // namespace lockstep::data
