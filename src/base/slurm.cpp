#include "slurm.h"

#include <charconv>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep {
namespace {

constexpr std::size_t kMostHosts = 65'536;

UsageError not_understood(std::string_view list) {
  return UsageError({.message = "Slurm's list of hosts is not understood",
                     .found = std::string(list.substr(0, 200)),
                     .expected = fmt::format("such as n[1-3,07],login, and at most {} hosts", kMostHosts)});
}

// The words between commas that are not inside brackets.
std::vector<std::string_view> split_outside_brackets(std::string_view list) {
  std::vector<std::string_view> words;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i < list.size() && list[i] == '[') ++depth;
    if (i < list.size() && list[i] == ']') --depth;
    if (i == list.size() || (list[i] == ',' && depth == 0)) {
      words.push_back(list.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  return words;
}

std::size_t read_number(std::string_view digits, std::string_view list) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size()) throw not_understood(list);
  return number;
}

// "1-3" or "07", each number as wide as its first is written.
void append_range(std::vector<std::string>& numbers, std::string_view range, std::string_view list) {
  const std::size_t dash = range.find('-');
  const std::string_view first = range.substr(0, dash);
  const std::string_view last = dash == std::string_view::npos ? first : range.substr(dash + 1);
  const std::size_t from = read_number(first, list), to = read_number(last, list);
  if (to < from || to - from >= kMostHosts) throw not_understood(list);
  for (std::size_t i = from; i <= to; ++i) numbers.push_back(fmt::format("{:0{}}", i, first.size()));
}

void append_hosts(std::vector<std::string>& hosts, const std::string& prefix, std::string_view rest,
                  std::string_view list) {
  const std::size_t open = rest.find('[');
  if (open == std::string_view::npos) {
    if (hosts.size() >= kMostHosts || rest.find(']') != std::string_view::npos) throw not_understood(list);
    hosts.push_back(prefix + std::string(rest));
    return;
  }
  const std::size_t close = rest.find(']', open);
  if (close == std::string_view::npos) throw not_understood(list);
  std::vector<std::string> numbers;
  for (const std::string& range : split(rest.substr(open + 1, close - open - 1), ',')) {
    append_range(numbers, range, list);
  }
  for (const std::string& number : numbers) {
    append_hosts(hosts, fmt::format("{}{}{}", prefix, rest.substr(0, open), number), rest.substr(close + 1), list);
  }
}

}  // namespace

std::vector<std::string> expand_slurm_hosts(std::string_view list) {
  std::vector<std::string> hosts;
  for (const std::string_view word : split_outside_brackets(list)) {
    if (word.empty()) throw not_understood(list);
    append_hosts(hosts, "", word, list);
  }
  return hosts;
}

}  // namespace lockstep
