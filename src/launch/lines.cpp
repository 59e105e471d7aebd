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

}  // namespace

std::string LineAssembler::add(std::string_view bytes) {
  const std::size_t end = bytes.rfind('\n');
  if (end == std::string_view::npos) {
    partial_.append(bytes);
    return partial_.size() < kLongestLine ? std::string() : std::exchange(partial_, {});
  }
  std::string complete = std::exchange(partial_, std::string(bytes.substr(end + 1)));
  complete.append(bytes.substr(0, end + 1));
  return complete;
}

std::string LineAssembler::rest() {
  if (partial_.empty()) return {};
  return std::exchange(partial_, {}) + "\n";
}

void Tail::add(std::string_view lines) {
  while (!lines.empty()) {
    std::string_view line = take_line(lines);
    if (line.ends_with('\n')) line.remove_suffix(1);
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
