#include <charconv>
#include <string_view>

#include <lockstep/base/errors.h>
#include <lockstep/trace/timeline.h>

namespace lockstep::trace {
namespace {

constexpr std::int64_t kMostSteps = 1000;

bool read_number(std::string_view text, std::int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && number >= 0;
}

}  // namespace

StepWindow parse_window(const std::string& text) {
  constexpr std::string_view kPrefix = "steps=";
  std::string_view rest = text;
  if (rest.starts_with(kPrefix)) rest.remove_prefix(kPrefix.size());
  const std::size_t colon = rest.find(':');
  StepWindow window;
  if (colon == std::string_view::npos || !read_number(rest.substr(0, colon), window.first) ||
      !read_number(rest.substr(colon + 1), window.end) || window.end <= window.first) {
    throw UsageError({.message = "the steps to trace are not understood",
                      .found = text,
                      .expected = "steps=FIRST:END, such as steps=10:15 for the five steps after the tenth"});
  }
  if (window.end - window.first > kMostSteps) {
    throw UsageError({.message = "these are too many steps for one trace",
                      .found = text,
                      .expected = std::to_string(kMostSteps) + " steps at most"});
  }
  return window;
}

}  // namespace lockstep::trace
