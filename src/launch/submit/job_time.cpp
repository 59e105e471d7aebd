#include "job_time.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>
#include <lockstep/launch/submit.h>

namespace lockstep::launch {
namespace {

using std::chrono::seconds;

constexpr std::int64_t kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour, kLongest = 365 * kDay;

struct Unit {
  std::string_view name;
  std::int64_t seconds;
};
constexpr std::array kUnits = {Unit{"", kMinute},    Unit{"s", 1},      Unit{"sec", 1},      Unit{"m", kMinute},
                               Unit{"min", kMinute}, Unit{"h", kHour},  Unit{"hour", kHour}, Unit{"hours", kHour},
                               Unit{"d", kDay},      Unit{"day", kDay}, Unit{"days", kDay}};

UsageError not_a_time(const std::string& text) {
  return UsageError({.message = "the time makes no sense",
                     .found = fmt::format("'{}'", text.substr(0, 50)),
                     .expected = "up to a year, as 30 (minutes), 45s, 90m, 2h, 1:30:00 or 2-00:00:00"});
}

std::int64_t number(std::string_view digits, std::int64_t most, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size() || value < 0 || value > most) throw not_a_time(text);
  return value;
}

// 1:30:00. Two numbers would be minutes to Slurm and hours to most people, so they are refused.
std::int64_t clock(std::string_view part, const std::string& text) {
  const auto fields = split(part, ':');
  if (fields.size() != 3) throw not_a_time(text);
  return number(fields[0], kLongest / kHour, text) * kHour + number(fields[1], 59, text) * kMinute +
         number(fields[2], 59, text);
}

std::int64_t with_unit(const std::string& text) {
  const std::size_t digits = text.find_first_not_of("0123456789");
  const std::string_view name = digits == std::string::npos ? "" : std::string_view(text).substr(digits);
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return number(text.substr(0, digits), kLongest / unit.seconds, text) * unit.seconds;
  }
  throw not_a_time(text);
}

std::int64_t total(const std::string& text) {
  if (text.find(':') == std::string::npos) return with_unit(text);
  const std::size_t dash = text.find('-');
  if (dash == std::string::npos) return clock(text, text);
  return number(text.substr(0, dash), kLongest / kDay, text) * kDay + clock(text.substr(dash + 1), text);
}

}  // namespace

seconds parse_job_time(const std::string& text) {
  const std::int64_t count = total(text);
  if (count < 1 || count > kLongest) throw not_a_time(text);
  return seconds(count);
}

std::string clock_time(seconds time) {
  const auto count = time.count();
  return fmt::format("{:02}:{:02}:{:02}", count / kHour, count % kHour / kMinute, count % kMinute);
}

std::string slurm_time(seconds time) {
  const auto days = time.count() / kDay;
  const std::string rest = clock_time(seconds(time.count() % kDay));
  return days == 0 ? rest : fmt::format("{}-{}", days, rest);
}

std::int64_t whole_minutes(seconds time) {
  return (time.count() + kMinute - 1) / kMinute;
}

}  // namespace lockstep::launch
