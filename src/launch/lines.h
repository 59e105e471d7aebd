#pragma once
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

namespace lockstep::launch {

// Bytes in, whole lines out, so that lines of several writers never tear each other. What ends with a return to the
// line's beginning, as progress bars do, passes as a line. A line longer than the limit passes in pieces.
class LineAssembler {
 public:
  static constexpr std::size_t kLongestLine = std::size_t{1} << 20;

  // Returns the lines that `bytes` completes, each with its end.
  std::string add(std::string_view bytes);

  // What is left when no more will come, ended like a line; empty when nothing is.
  std::string rest();

 private:
  std::string partial_;
};

// The last lines of a text that may be long.
class Tail {
 public:
  explicit Tail(std::size_t lines) : most_(lines) {}
  void add(std::string_view lines);
  std::string text() const;

 private:
  std::size_t most_;
  std::deque<std::string> lines_;
};

// `prefix` before each line.
std::string with_prefix(std::string_view prefix, std::string_view lines);

}  // namespace lockstep::launch
