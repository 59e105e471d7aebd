#include "lines.h"

#include <utility>

namespace lockstep::launch {
namespace {

// The tail keeps no more of a line.
constexpr std::size_t kKeptOfALine = 2000;

// Takes the first line, with its end, off `text`.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end == std::string_view::npos ? text.size() : end + 1);
  text.remove_prefix(line.size());
  return line;
}

// The place behind the last line's end, or 0: a newline, or a return to the beginning of the line, by which a progress
// bar is drawn anew. A return at the very end may belong to a newline that has not come yet.
std::size_t last_end(const std::string& text, std::size_t from) {
  for (std::size_t i = text.size(); i > from; --i) {
    const bool returns = text[i - 1] == '\r' && i < text.size() && text[i] != '\n';
    if (text[i - 1] == '\n' || returns) return i;
  }
  return 0;
}

}  // namespace

std::string LineAssembler::add(std::string_view bytes) {
  const std::size_t seen = partial_.empty() ? 0 : partial_.size() - 1;
  partial_.append(bytes);
  const std::size_t end = last_end(partial_, seen);
  if (end == 0) return partial_.size() < kLongestLine ? std::string() : std::exchange(partial_, {});
  std::string complete = partial_.substr(0, end);
  partial_.erase(0, end);
  return complete;
}

std::string LineAssembler::rest() {
  if (partial_.empty()) return {};
  return std::exchange(partial_, {}) + "\n";
}

void Tail::add(std::string_view lines) {
  while (!lines.empty()) {
    std::string_view line = take_line(lines);
    if (line.ends_with('\r')) continue;  // overwritten
    while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
    line.remove_prefix(line.rfind('\r') + 1);
    lines_.emplace_back(line.substr(0, kKeptOfALine));
    if (lines_.size() > most_) lines_.pop_front();
  }
}

std::string Tail::text() const {
  std::string text;
  for (const std::string& line : lines_) text.append(line).append("\n");
  return text;
}

std::string with_prefix(std::string_view prefix, std::string_view lines) {
  std::string text;
  text.reserve(lines.size() + prefix.size() * 2);
  while (!lines.empty()) text.append(prefix).append(take_line(lines));
  return text;
}

}  // namespace lockstep::launch
