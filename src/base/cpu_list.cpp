#include <lockstep/base/cpu_list.h>

#include <charconv>

#include <fmt/format.h>

#include <lockstep/base/text.h>

namespace lockstep {
namespace {

constexpr int kMost = 1 << 16;  // hardware threads that a machine may have; a wrong list must not fill the memory

std::optional<int> parse_cpu(std::string_view text) {
  int cpu = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, cpu);
  if (error != std::errc{} || stop != end || cpu < 0 || cpu >= kMost) return std::nullopt;
  return cpu;
}

}  // namespace

std::optional<std::vector<int>> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  for (const std::string& range : split(text, ',')) {
    const std::size_t dash = range.find('-');
    const auto first = parse_cpu(std::string_view(range).substr(0, dash));
    const auto last = dash == std::string::npos ? first : parse_cpu(std::string_view(range).substr(dash + 1));
    if (!first || !last || *last < *first) return std::nullopt;
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::string format_cpu_list(std::span<const int> cpus) {
  std::string text;
  for (std::size_t begin = 0, end = 0; begin < cpus.size(); begin = end) {
    end = begin + 1;
    while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) ++end;
    if (begin > 0) text += ',';
    text += end == begin + 1 ? fmt::format("{}", cpus[begin]) : fmt::format("{}-{}", cpus[begin], cpus[end - 1]);
  }
  return text;
}

}  // namespace lockstep
