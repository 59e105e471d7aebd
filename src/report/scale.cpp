#include "scale.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <lockstep/base/text.h>

namespace lockstep::report {
namespace {

constexpr int kMostTicks = 6;

double round_step(double span, int most) {
  const double rough = span / most;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::vector<double> multiples(double step, double low, double high) {
  std::vector<double> all;
  const double first = std::ceil(low / step - 1e-9), last = std::floor(high / step + 1e-9);
  for (double i = first; i <= last; ++i) all.push_back(i == 0 ? 0 : i * step);
  return all;
}

int digits_behind_point(double step) {
  return step > 0 ? std::clamp(static_cast<int>(-std::floor(std::log10(step) + 1e-9)), 0, 12) : 0;
}

std::string short_number(double value, double step) {
  const double size = std::abs(value);
  if (size >= 1e15 || (size > 0 && size < 1e-4)) return fmt::format("{:.3g}", value);
  if (size < 10'000) return fmt::format("{:.{}f}", value, digits_behind_point(step));
  constexpr struct {
    double unit;
    const char* name;
  } kUnits[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  const auto* const unit = std::find_if(std::begin(kUnits), std::end(kUnits), [&](auto u) { return size >= u.unit; });
  return fmt::format("{:.{}f}{}", value / unit->unit, digits_behind_point(step / unit->unit), unit->name);
}

// All values alike, or none: an axis needs some length all the same.
void widen(double& low, double& high, bool is_log) {
  if (!(low <= high)) low = high = is_log ? 1 : 0;
  if (high - low > std::abs(high) * 1e-9) return;
  const double by = low == 0 ? 1 : std::abs(low) * 0.1;
  low -= by;
  high += by;
}

}  // namespace

double Scale::at(double value) const {
  if (is_log && !(value > 0)) return kUnknown;
  const double part = is_log ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  return from + part * (to - from);
}

std::vector<double> log_ticks(double low, double high) {
  std::vector<double> tens, all;
  const double decades = std::log10(high / low);
  const int stride = std::max(1, static_cast<int>(std::ceil(decades / kMostTicks)));
  for (int power = static_cast<int>(std::floor(std::log10(low))); std::pow(10.0, power) <= high * (1 + 1e-9); ++power) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double tick = factor * std::pow(10.0, power);
      if (tick < low * (1 - 1e-9) || tick > high * (1 + 1e-9)) continue;
      all.push_back(tick);
      if (factor == 1 && power % stride == 0) tens.push_back(tick);
    }
  }
  return tens.size() < 3 && decades < 3 ? all : tens;
}

std::string tick_text(double tick, double step, Unit unit) {
  if (unit == Unit::kPercent) return short_number(tick * 100, step * 100) + "%";
  if (unit == Unit::kBytes && tick >= 1 && tick < 1e18) {
    std::string text = format_bytes(static_cast<std::uint64_t>(tick));
    if (const auto zero = text.find(".0 "); zero != std::string::npos) text.erase(zero, 2);
    return text;
  }
  return short_number(tick, step);
}

Ticks ticks_for(const Axis& axis, double low, double high, bool rounded) {
  const bool is_log = axis.is_log && low > 0;
  if (axis.has_zero && !is_log) {
    low = std::min(low, 0.0);
    high = std::max(high, 0.0);
  }
  widen(low, high, is_log);
  Ticks ticks{.low = low, .high = high, .is_log = is_log, .values = axis.ticks, .texts = {}};
  if (is_log) {
    if (ticks.values.empty()) ticks.values = log_ticks(low, high);
    for (const double tick : ticks.values) ticks.texts.push_back(tick_text(tick, tick, axis.unit));
    return ticks;
  }
  const double step = round_step(high - low, kMostTicks);
  if (rounded) {
    ticks.low = std::floor(low / step + 1e-9) * step;
    ticks.high = std::ceil(high / step - 1e-9) * step;
  }
  if (ticks.values.empty()) ticks.values = multiples(step, ticks.low, ticks.high);
  for (const double tick : ticks.values) ticks.texts.push_back(tick_text(tick, step, axis.unit));
  return ticks;
}

std::string number_text(double value, Unit unit) {
  if (!std::isfinite(value)) return "";
  if (unit == Unit::kPercent) return fmt::format("{:.2f}%", value * 100);
  if (unit == Unit::kBytes && value >= 0 && value < 1e18) return format_bytes(static_cast<std::uint64_t>(value));
  if (value == std::floor(value) && std::abs(value) < 1e15) return format_count(static_cast<std::int64_t>(value));
  if (std::abs(value) >= 1000 && std::abs(value) < 1e15) return format_count(std::llround(value));
  return fmt::format("{:.5g}", value);
}

}  // namespace lockstep::report
